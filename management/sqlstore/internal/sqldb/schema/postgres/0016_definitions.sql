-- +goose Up

-- The names that events and properties of a project have, the kind of values of each
-- property, and when the first and the last event with the name happened, in
-- microseconds since 1970.
CREATE TABLE definition (
	project_id bigint   NOT NULL,
	kind       smallint NOT NULL,
	name       text     NOT NULL,
	type       text     NOT NULL,
	first_seen bigint   NOT NULL,
	last_seen  bigint   NOT NULL,
	PRIMARY KEY (project_id, kind, name)
);

-- The last event of which definition has the names.
CREATE TABLE definition_progress (last_id bigint NOT NULL);
INSERT INTO definition_progress VALUES (0);

-- +goose Down
DROP TABLE definition_progress;
DROP TABLE definition;
