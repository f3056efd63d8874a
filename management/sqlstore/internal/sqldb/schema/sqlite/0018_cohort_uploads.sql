-- +goose Up

-- By which list of distinct IDs a person became a member, for RemoveCohortUpload. NULL: by
-- another way, or by a list of an earlier release.
ALTER TABLE cohort_member ADD COLUMN upload_id blob;

-- +goose Down
ALTER TABLE cohort_member DROP COLUMN upload_id;
