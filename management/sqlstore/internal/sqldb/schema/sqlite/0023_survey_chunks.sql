-- +goose Up

-- Survey events are counted where they are.
DROP TABLE survey_chunk;
ALTER TABLE survey_event DROP COLUMN chunk_id;

-- +goose Down
ALTER TABLE survey_event ADD COLUMN chunk_id integer;
CREATE TABLE survey_chunk (
	id         integer PRIMARY KEY,
	project_id integer NOT NULL,
	survey_id  text    NOT NULL,
	first_at   integer NOT NULL,
	last_at    integer NOT NULL,
	responses  integer NOT NULL,
	entries    blob    NOT NULL
);
CREATE INDEX survey_chunk_by_survey ON survey_chunk (project_id, survey_id, id, first_at, last_at, responses);
