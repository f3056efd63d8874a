-- +goose Up

-- For pages of persons, newest first: UUIDs begin with the time.
CREATE INDEX person_by_project ON person (project_id, id);

-- For searches by prefix, in the order of bytes, whatever the collation of the
-- database is.
CREATE INDEX person_distinct_id_by_text ON person_distinct_id (project_id, distinct_id COLLATE "C") INCLUDE (person_id);
CREATE INDEX group_entry_by_text ON group_entry (project_id, type_index, group_key COLLATE "C");

-- Distinct IDs of persons that were deleted with their events: events up to
-- last_event, the newest one at that time, are to be deleted. A search reads
-- all events once, in their order, for all distinct IDs that have its number.
-- It has come as far as searched. The number is 0 until it begins.
CREATE TABLE deleted_distinct_id (
	project_id  bigint NOT NULL,
	distinct_id text   NOT NULL,
	last_event  bigint NOT NULL,
	search      bigint NOT NULL DEFAULT 0,
	searched    bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (project_id, distinct_id)
);

-- +goose Down
DROP TABLE deleted_distinct_id;
DROP INDEX group_entry_by_text;
DROP INDEX person_distinct_id_by_text;
DROP INDEX person_by_project;
