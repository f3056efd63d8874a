-- +goose Up

-- An organization has one invitation for an address. Links have the token. The
-- invitations of a user end with the user.
CREATE TABLE organization_invitation (
	id              text    NOT NULL PRIMARY KEY,
	organization_id text    NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
	target_email    text    NOT NULL,
	first_name      text    NOT NULL,
	level           integer NOT NULL,
	token_hash      blob    NOT NULL UNIQUE,
	created_by_id   integer NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	created_at      integer NOT NULL,
	expires_at      integer NOT NULL,
	UNIQUE (organization_id, target_email)
);
CREATE INDEX organization_invitation_by_author ON organization_invitation (created_by_id);

-- +goose Down
DROP TABLE organization_invitation;
