-- +goose Up

-- An organization has one invitation for an address. Links have the token. The
-- invitations of a user end with the user.
CREATE TABLE organization_invitation (
	id              uuid PRIMARY KEY,
	organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
	target_email    text NOT NULL,
	first_name      text NOT NULL,
	level           smallint NOT NULL,
	token_hash      bytea NOT NULL UNIQUE,
	created_by_id   bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	created_at      timestamptz NOT NULL,
	expires_at      timestamptz NOT NULL,
	UNIQUE (organization_id, target_email)
);
CREATE INDEX organization_invitation_by_author ON organization_invitation (created_by_id);

-- +goose Down
DROP TABLE organization_invitation;
