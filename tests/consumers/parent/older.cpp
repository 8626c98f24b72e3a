static_assert(__cplusplus == 201703L, "the project's own standard");

int main() { return 0; }
