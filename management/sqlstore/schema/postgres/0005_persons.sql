-- +goose Up

-- For pages of persons, newest first: UUIDs begin with the time.
CREATE INDEX person_by_project ON person (project_id, id);

-- For what begins with some text, and the order of its bytes, whatever the
-- collation of the database is.
CREATE INDEX person_distinct_id_by_text ON person_distinct_id (project_id, distinct_id COLLATE "C") INCLUDE (person_id);
CREATE INDEX group_entry_by_text ON group_entry (project_id, type_index, group_key COLLATE "C");

-- Distinct IDs of persons who were deleted with their events: those up to
-- last_event, the newest one at that time, are to be deleted. A search looks
-- through all events once, in their order, for all distinct IDs that have its
-- number, and has come as far as searched says. 0: it has not begun.
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
