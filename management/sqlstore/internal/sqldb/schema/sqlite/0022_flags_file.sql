-- +goose Up

-- The file from which the flags of a project come, as JSON. NULL: people make them.
ALTER TABLE project ADD COLUMN flags_file text;

-- +goose Down
ALTER TABLE project DROP COLUMN flags_file;
