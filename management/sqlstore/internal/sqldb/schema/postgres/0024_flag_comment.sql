-- +goose Up

-- What the author of the version has said about it.
ALTER TABLE feature_flag ADD COLUMN comment text NOT NULL DEFAULT '';
ALTER TABLE feature_flag_version ADD COLUMN comment text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE feature_flag_version DROP COLUMN comment;
ALTER TABLE feature_flag DROP COLUMN comment;
