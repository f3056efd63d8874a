-- +goose Up

-- Browsers in which users are signed in; cookies have the token.
CREATE TABLE user_session (
	id           uuid PRIMARY KEY,
	user_id      bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	token_hash   bytea NOT NULL UNIQUE,
	pending      boolean NOT NULL,
	address      text NOT NULL,
	browser      text NOT NULL,
	created_at   timestamptz NOT NULL,
	last_seen_at timestamptz NOT NULL
);
CREATE INDEX user_session_by_user ON user_session (user_id, last_seen_at);
-- To delete what has expired.
CREATE INDEX user_session_by_seen ON user_session (last_seen_at);
CREATE INDEX user_session_by_creation ON user_session (created_at);

-- Links that act for a user, once: to sign in, and to choose another password.
CREATE TABLE user_link (
	user_id      bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	kind         text NOT NULL,
	token_hash   bytea NOT NULL UNIQUE,
	target_email text NOT NULL,
	created_at   timestamptz NOT NULL,
	expires_at   timestamptz NOT NULL,
	PRIMARY KEY (user_id, kind)
);

-- +goose Down
DROP TABLE user_link;
DROP TABLE user_session;
