-- +goose Up

-- By which names people call a person, in small letters and each between line breaks; ''
-- if there are none, NULL until IndexPersons has filled it in.
ALTER TABLE person ADD COLUMN names text;

-- For searches by a part of a name, newest persons first: they read this index and nothing
-- else. Most persons are anonymous and not in it.
CREATE INDEX person_by_name ON person (project_id, id) INCLUDE (names) WHERE names <> '';

-- For IndexPersons. It is empty but for a while after an upgrade.
CREATE INDEX person_without_names ON person (project_id, id) WHERE names IS NULL;

-- +goose Down
DROP INDEX person_without_names;
DROP INDEX person_by_name;
ALTER TABLE person DROP COLUMN names;
