-- +goose Up

-- Users, members and flags are counted when their number is asked for.
DROP TABLE flag_count;
ALTER TABLE organization DROP COLUMN member_count;
DROP TABLE user_count;

-- +goose Down
CREATE TABLE user_count (
	is_staff boolean PRIMARY KEY,
	users    bigint NOT NULL
);
INSERT INTO user_count (is_staff, users)
	SELECT false, count(*) FROM user_account WHERE is_active = true AND is_staff = false
	UNION ALL SELECT true, count(*) FROM user_account WHERE is_active = true AND is_staff = true;

ALTER TABLE organization ADD COLUMN member_count bigint NOT NULL DEFAULT 0;
UPDATE organization SET member_count = (
	SELECT count(*) FROM organization_membership m JOIN user_account u ON u.id = m.user_id
	WHERE m.organization_id = organization.id AND u.is_active = true
);

CREATE TABLE flag_count (
	project_id bigint NOT NULL REFERENCES project (id) ON DELETE CASCADE,
	active     boolean NOT NULL,
	archived   boolean NOT NULL,
	flags      bigint NOT NULL,
	PRIMARY KEY (project_id, active, archived)
);
INSERT INTO flag_count (project_id, active, archived, flags)
	SELECT project_id, active, archived, count(*) FROM feature_flag WHERE deleted = false AND internal_kind = 0 GROUP BY project_id, active, archived;
