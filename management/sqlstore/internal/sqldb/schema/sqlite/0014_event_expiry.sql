-- +goose Up

-- Projects of which old events were deleted, and the time, in microseconds since
-- 1970, before which they were. Events from before it are not stored again.
CREATE TABLE event_expiry (
	project_id integer PRIMARY KEY,
	kept_from  integer NOT NULL
);

-- +goose Down
DROP TABLE event_expiry;
