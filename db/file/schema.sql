-- Version 1 of the database. A later version is a further entry in the list of migrations (migration.cpp), never a
-- change of this file. Times are in seconds, sizes in bytes, moments in UTC. Formats and outcomes go by name, so that
-- no list in the code has an order to keep. What values mean is checked by whoever reads them: a file is never trusted.

CREATE TABLE matrix (
  fingerprint   TEXT    NOT NULL PRIMARY KEY,
  rows          INTEGER NOT NULL,
  cols          INTEGER NOT NULL,
  nnz           INTEGER NOT NULL,
  label         TEXT    NOT NULL,
  first_seen_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT, WITHOUT ROWID;

CREATE TABLE feature (
  matrix TEXT NOT NULL REFERENCES matrix (fingerprint),
  name   TEXT NOT NULL,
  value  REAL NOT NULL,
  PRIMARY KEY (matrix, name)
) STRICT, WITHOUT ROWID;

-- All that a measurement is valid for, except the matrix.
CREATE TABLE environment (
  id         INTEGER PRIMARY KEY,
  value_type TEXT NOT NULL,
  operation  TEXT NOT NULL,
  backend    TEXT NOT NULL,
  device     TEXT NOT NULL,
  toolkit    TEXT NOT NULL,
  driver     TEXT NOT NULL,
  library    TEXT NOT NULL,
  UNIQUE (value_type, operation, backend, device, toolkit, driver, library)
) STRICT;

-- The history. The last trial of a candidate is the one with the highest id: clocks jump, ids do not.
CREATE TABLE trial (
  id                   INTEGER PRIMARY KEY,
  matrix               TEXT    NOT NULL REFERENCES matrix (fingerprint),
  environment          INTEGER NOT NULL REFERENCES environment (id),
  format               TEXT    NOT NULL,
  format_version       INTEGER NOT NULL,
  params               TEXT    NOT NULL,
  deterministic        INTEGER NOT NULL,
  outcome              TEXT    NOT NULL,
  detail               TEXT    NOT NULL,
  warm_median_s        REAL    NOT NULL,
  warm_low_quartile_s  REAL    NOT NULL,
  warm_high_quartile_s REAL    NOT NULL,
  warm_samples         INTEGER NOT NULL,
  cold_median_s        REAL    NOT NULL,
  cold_low_quartile_s  REAL    NOT NULL,
  cold_high_quartile_s REAL    NOT NULL,
  cold_samples         INTEGER NOT NULL,
  setup_s              REAL    NOT NULL,
  bytes                INTEGER NOT NULL,
  csr_bytes            INTEGER NOT NULL,  -- of the arrays it was tried on: they depend on the types of value and offset
  worst_error          REAL    NOT NULL,
  created_at           TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE INDEX trial_by_candidate ON trial (matrix, environment, format, params, id);

-- Whoever means to forget trials switches triggers off, on that connection alone.
CREATE TRIGGER trial_keeps_rows BEFORE DELETE ON trial
BEGIN SELECT raise(ABORT, 'trials are never deleted'); END;
CREATE TRIGGER trial_keeps_values BEFORE UPDATE ON trial
BEGIN SELECT raise(ABORT, 'trials are never changed'); END;

-- The next two do not refer to matrix: a matrix has a suspect before its first trial, and may be tuned without one.
CREATE TABLE tuning (
  matrix      TEXT    NOT NULL,
  environment INTEGER NOT NULL REFERENCES environment (id),
  effort      TEXT    NOT NULL,
  catalogue   TEXT    NOT NULL,
  finished_at TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (matrix, environment, effort, catalogue)
) STRICT, WITHOUT ROWID;

-- A candidate that a process is launching for the first time. Process ids come back; with the start time they do not.
CREATE TABLE suspect (
  matrix      TEXT    NOT NULL,
  environment INTEGER NOT NULL REFERENCES environment (id),
  format      TEXT    NOT NULL,
  params      TEXT    NOT NULL,
  host        TEXT    NOT NULL,
  pid         INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,  -- clock ticks from boot to the start of the process
  created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (matrix, environment, format, params, host, pid, start_ticks)
) STRICT, WITHOUT ROWID;
