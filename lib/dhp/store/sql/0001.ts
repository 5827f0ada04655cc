// SQL lives in numbered, append-only files: never edit one that was released. They are TypeScript because the compiler
// copies no .sql, and a package that has to find its own files at run time breaks in bundles.
export const sql = `
CREATE TABLE intents (
  id TEXT PRIMARY KEY,
  task_kind TEXT NOT NULL,
  body TEXT NOT NULL
);

CREATE TABLE handoffs (
  id TEXT PRIMARY KEY REFERENCES intents (id),
  state TEXT NOT NULL CHECK (state IN ('pending', 'claimed', 'orphaned', 'completed', 'dead', 'cancelled')),
  reason TEXT,
  fence INTEGER NOT NULL CHECK (typeof(fence) = 'integer'),
  attempts INTEGER NOT NULL,
  releases INTEGER NOT NULL,
  attempts_without_progress INTEGER NOT NULL,
  granted TEXT NOT NULL,
  seq INTEGER NOT NULL,
  head TEXT NOT NULL,
  usage TEXT NOT NULL,
  wall_left_ms REAL,
  holder TEXT,
  lease TEXT,
  counter INTEGER NOT NULL,
  result TEXT,
  result_hash TEXT,
  error TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  claimed_at REAL,
  CHECK ((state = 'claimed') = (holder IS NOT NULL AND lease IS NOT NULL AND claimed_at IS NOT NULL))
);

CREATE INDEX handoffs_by_age ON handoffs (created_at, id);
CREATE INDEX handoffs_claimed ON handoffs (id) WHERE state = 'claimed';

CREATE TABLE checkpoints (
  id TEXT NOT NULL REFERENCES handoffs (id),
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  body TEXT NOT NULL,
  quarantined INTEGER NOT NULL DEFAULT 0
);

CREATE UNIQUE INDEX checkpoints_chain ON checkpoints (id, seq) WHERE quarantined = 0;

CREATE TABLE blob_names (
  sha256 TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE events (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  fence INTEGER NOT NULL,
  at REAL NOT NULL,
  data TEXT NOT NULL
);

CREATE TABLE leader (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  candidate TEXT NOT NULL,
  term INTEGER NOT NULL,
  expires_at REAL NOT NULL
);
`;
