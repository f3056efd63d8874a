-- +goose Up

-- For how many days a project keeps events. NULL: for as long as the server does.
ALTER TABLE project ADD COLUMN event_retention_days integer;

-- +goose Down
ALTER TABLE project DROP COLUMN event_retention_days;
