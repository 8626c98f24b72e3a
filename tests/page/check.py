#!/usr/bin/env python3
"""check.py PROGRAM [DIRECTORY]: the pages of `autospmv report` and `bench --study`, in headless Chromium: their size, that
they ask nobody for anything, sorting, filtering, hovering, keys, themes, a phone's width and print. Screenshots go to
DIRECTORY. Exit status 77 where there is no Chromium."""

import base64
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    skip("no selenium for this Python (python3-selenium)")

MATRICES = 64
HOSTILE = "</script><script>window.broken = true</script><b>&amp;\u202e"


def rows():
    """A database of MATRICES matrices on two devices, as `autospmv db export` would write it."""
    chance = random.Random(1)
    yield {"autospmv_rows": 1}
    formats = ["csr_scalar", "csr_vector", "sell_p", "hdia", "bell", "hll", "csr5", "sliced_ell", "coo", "dia"]
    devices = [("host", "a processor, 8 threads"), ("cuda", "a GPU" + HOSTILE)]
    trials = []
    for number in range(MATRICES):
        fingerprint = f"{number + 1:032x}"
        count = int(10 ** chance.uniform(2, 6))
        mean = 10 ** chance.uniform(0.3, 2.5)
        label = HOSTILE if number == 0 else f"matrix{number:02d}"
        yield {"row": "matrix", "fingerprint": fingerprint, "rows": count, "cols": count, "nnz": int(count * mean),
               "label": label, "source": "made up", "first_seen_at": "2026-01-01T00:00:00.000Z"}
        backend, device = devices[number % 2]
        for name in formats:
            us = count * mean * 1e-3 * chance.lognormvariate(0, 0.5) + 1
            refused = name == "dia" or (name == "bell" and number % 3 == 0)
            trials.append(
                {"row": "trial", "matrix": fingerprint, "value_type": "double", "operation": "n", "backend": backend,
                 "device": device, "toolkit": "a toolkit", "driver": "", "library": "1.0", "format": name,
                 "format_version": 1, "params": "", "deterministic": 1, "outcome": "refused" if refused else "passed",
                 "detail": "padding: too much" + (HOSTILE if number == 0 else "") if refused else "",
                 **{f"{kind}_{part}": 0 if refused or kind != "warm" else value for kind in ("warm", "cold", "loop")
                    for part, value in (("median_s", us * 1e-6), ("low_quartile_s", us * 0.97e-6),
                                        ("high_quartile_s", us * 1.04e-6), ("samples", 9))},
                 "setup_s": us * 2e-5, "bytes": int(count * mean * 12), "csr_bytes": int(count * mean * 12),
                 "worst_error": 0.01, "capturable": 1, "created_at": "2026-01-01T00:00:00.000Z"})
    yield from trials
    for backend, device in devices:
        yield {"row": "machine", "host": "h", "backend": backend, "device": device, "copy_bandwidth": 1e11,
               "measured_at": "2026-01-01T00:00:00.000Z"}


def open_browser():
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        skip("no chromium and chromedriver (chromium, chromium-driver)")
    options = Options()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Page:
    def __init__(self, driver, file, pictures):
        self.driver = driver
        self.file = file
        self.pictures = pictures

    def load(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.get("file://" + self.file)

    def run(self, script):
        return self.driver.execute_script("return " + script)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def check_own(self):
        """That it is made of nothing but itself, and that no text in it is taken for more than a text."""
        assert self.run("performance.getEntriesByType('resource').length") == 0, "it asks for something"
        assert self.run("document.querySelectorAll('script').length") == 2, "a text became a script"
        assert self.run("window.broken") is None, "a text was run"

    def check_theme(self):
        def brightness():
            red, green, blue = eval(self.run("getComputedStyle(document.body).backgroundColor").replace("rgb", ""))
            return red + green + blue

        before = brightness()
        self.find("#theme").click()
        assert abs(brightness() - before) > 400, "the theme does not change"
        assert self.find("#theme").get_attribute("aria-pressed") == ("true" if brightness() < before else "false")

    def check_phone(self):
        """Nothing but tables moves sideways."""
        self.load(390, 844)
        assert self.run("document.documentElement.scrollWidth") <= 390, "it is wider than a phone"

    def check_print(self):
        self.load(1280, 900)
        printed = base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
        assert printed.startswith(b"%PDF") and len(printed) > 10000
        complaints = [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        assert not complaints, complaints

    def column(self, number):
        return self.run(f"[...document.querySelectorAll('#matrices tbody tr')].map("
                        f"row => row.children[{number}].textContent)")

    def picture(self, name):
        if self.pictures:
            self.driver.save_screenshot(os.path.join(self.pictures, name + ".png"))


def check_page(page):
    page.load(1280, 900)
    page.picture("light")
    page.check_own()
    assert HOSTILE in page.column(0), "a name is not shown as it is"
    assert len(page.column(0)) == MATRICES
    assert page.run("document.querySelectorAll('#winners .mark').length") == 0, "there are no features"
    for section in ("speedups", "breakeven", "candidates", "refusals", "costs"):
        assert page.run(f"document.querySelectorAll('#{section} .bar').length") > 1, section + " is empty"

    # Sorts, one way and the other.
    def numbers():
        return [int(text.replace(",", "")) for text in page.column(1)]

    page.find("th button[data-sort=rows]").click()
    assert numbers() == sorted(numbers(), reverse=True), "not sorted"
    assert page.run("document.querySelector('th[aria-sort]').textContent") == "rows"
    page.find("th button[data-sort=rows]").send_keys(Keys.ENTER)
    assert numbers() == sorted(numbers()), "not sorted the other way by the keyboard"

    # Filters.
    page.find("#search").send_keys("matrix1")
    assert page.column(0) and all(name.startswith("matrix1") for name in page.column(0))
    assert f"{len(page.column(0))} of {MATRICES}" in page.find("#count").text
    page.find("#search").send_keys("nothing like it")
    assert page.column(0) == []
    page.find("#search").send_keys(Keys.CONTROL + "a", Keys.DELETE)
    assert len(page.column(0)) == MATRICES
    page.find("#device option:nth-child(2)").click()
    assert len(page.column(0)) == MATRICES // 2
    page.find("#device option:nth-child(1)").click()

    # A matrix's name shows its candidates.
    page.run("[...document.querySelectorAll('#matrices td button')].find(b => b.textContent === 'matrix07').click()")
    assert "matrix07" in page.find("#candidates .said").text
    bar = page.find("#candidates .bar.chosen")
    ActionChains(page.driver).move_to_element(bar).perform()
    assert not page.run("document.getElementById('tip').hidden"), "no tip at a bar"
    assert "a product (quartiles" in page.find("#tip").text
    page.picture("tip")

    page.check_theme()
    page.picture("dark")
    page.check_phone()
    page.picture("phone")
    page.check_print()


def check_points(page):
    """With features, as a tuned database has them: points to hover and to go through by keys."""
    page.load(1280, 900)
    marks = page.driver.find_elements(By.CSS_SELECTOR, "#winners .mark")
    assert marks, "no points"
    ActionChains(page.driver).move_to_element(marks[0]).perform()
    assert "nonzeros" in page.find("#tip").text, "no tip at a point"
    page.run("document.querySelector('#winners [role=listbox]').focus()")
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    assert page.run("document.querySelectorAll('#winners .mark.at').length") == 1
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.run("document.querySelectorAll('#predictions .mark').length") > 0, "no predictions"
    page.find("#winners .legend button").click()
    assert page.find("#winners .legend button").get_attribute("aria-pressed") == "true"
    page.picture("points")


def study_files(measured, directory):
    """What `bench --study all --json` has printed of one matrix, as if of three and from three machines, one of a hostile
    name."""
    runs = [("host", "a processor, 8 threads", "double"), ("host", "a processor, 8 threads", "float"),
            ("cuda", "a GPU" + HOSTILE, "double")]
    chance = random.Random(2)
    for number, (backend, device, value_type) in enumerate(runs):
        name = os.path.join(directory, f"study{number}.json")
        with open(name, "w", encoding="utf-8") as file:
            for line in measured.splitlines():
                one = json.loads(line)
                if "trials" not in one:
                    continue
                one.update(backend=backend, device=device, value_type=value_type)
                for name_of_matrix in ("one", "two", "three" + HOSTILE):
                    one.update(matrix=name_of_matrix, mean_row=2 * one["mean_row"])
                    for trial in one["trials"]:
                        if trial["median_us"]:
                            trial["median_us"] *= chance.uniform(1, 2)
                    file.write(json.dumps(one) + "\n")
        yield name


def check_study(page):
    page.load(1280, 900)
    page.picture("study_light")
    page.check_own()
    claims = page.run("document.querySelectorAll('#verdicts tbody tr').length")
    assert claims > 40, "claims are missing"
    assert page.run("document.querySelectorAll('.claim').length") == claims
    assert page.run("document.querySelectorAll('.claim .mark').length") > claims, "little is shown"
    assert page.run("document.querySelectorAll('.claim .claimed').length") > claims / 2, "no claim is shown"
    assert page.run("document.querySelectorAll('#tally .bar').length") >= 3
    assert page.run("document.querySelectorAll('#formats .bar').length") > 3
    # A claim's name leads to its picture.
    page.find("#verdicts td button").click()
    assert page.run("document.activeElement.className") == "claim"
    page.picture("study_claim")
    mark = page.find(".claim .mark.good")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(page.driver).move_to_element(mark).perform()
    assert "claimed:" in page.find("#tip").text, "no tip at a mark"
    page.find("#paper option:nth-child(3)").click()
    assert 0 < page.run("document.querySelectorAll('.claim').length") < claims, "papers are not chosen"
    page.find("#verdict option:nth-child(3)").click()
    assert page.run("[...document.querySelectorAll('#verdicts tbody tr')].every(row => row.textContent.includes('✗'))")
    page.find("#run option:nth-child(3)").click()
    assert page.run("document.querySelectorAll('#formats tbody tr').length") == 3
    page.check_theme()
    page.picture("study_dark")
    page.check_phone()
    page.picture("study_phone")
    page.check_print()


def main():
    program = os.path.abspath(sys.argv[1])
    pictures = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    driver = open_browser()
    try:
        with tempfile.TemporaryDirectory() as directory:
            def run(*words):
                return subprocess.run([program, *words], check=True, cwd=directory, stdout=subprocess.PIPE,
                                      encoding="utf-8").stdout

            with open(os.path.join(directory, "rows.jsonl"), "w", encoding="utf-8") as file:
                for row in rows():
                    file.write(json.dumps(row) + "\n")
            run("db", "import", "rows.jsonl", "--db", "made.db")
            run("report", "made.db", "-o", "made.html")
            made = os.path.join(directory, "made.html")
            assert os.path.getsize(made) < 2_000_000, "the page is too large"
            check_page(Page(driver, made, pictures))
            run("tune", "--quiet", "--backend", "host", "--db", "tuned.db", "gen:pde:8", "gen:grid2d:20", "gen:rmat:8",
                "gen:fem:5:3", "gen:dense:40")
            run("report", "tuned.db", "-o", "tuned.html")
            check_points(Page(driver, os.path.join(directory, "tuned.html"), pictures))
            measured = run("bench", "--study", "all", "--json", "--quiet", "--backend", "host", "gen:pde:6")
            run("bench", "--claims-from", *study_files(measured, directory), "--html", "study.html")
            study = os.path.join(directory, "study.html")
            assert os.path.getsize(study) < 2_000_000, "the page of studies is too large"
            check_study(Page(driver, study, pictures))
    finally:
        driver.quit()
    print("the pages sort, filter, hover, print and change their theme")


if __name__ == "__main__":
    main()
