-- +goose Up

-- A random number that each write of the row replaces, so that what was read is not
-- read again: a row with a known id and a known mark is as it was, but for
-- last_called_at.
ALTER TABLE feature_flag ADD COLUMN mark bigint NOT NULL DEFAULT 0;
UPDATE feature_flag SET mark = (random() * 9007199254740992)::bigint;

-- The same for all flags of a project: each of their changes replaces it.
ALTER TABLE project_version ADD COLUMN mark bigint NOT NULL DEFAULT 0;
UPDATE project_version SET mark = (random() * 9007199254740992)::bigint;

-- +goose Down
ALTER TABLE project_version DROP COLUMN mark;
ALTER TABLE feature_flag DROP COLUMN mark;
