-- +goose Up

-- Survey events are counted where they are.
DROP TABLE survey_chunk;
ALTER TABLE survey_event DROP COLUMN chunk_id;

-- +goose Down
ALTER TABLE survey_event ADD COLUMN chunk_id bigint;
CREATE TABLE survey_chunk (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project_id bigint NOT NULL,
	survey_id  uuid   NOT NULL,
	first_at   bigint NOT NULL,
	last_at    bigint NOT NULL,
	responses  bigint NOT NULL,
	entries    bytea  NOT NULL
);
CREATE INDEX survey_chunk_by_survey ON survey_chunk (project_id, survey_id, id);
