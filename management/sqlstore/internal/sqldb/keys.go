package sqldb

import (
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var keys = newTable(table[storage.PersonalKey]{
	name: "personal_api_key", noun: "a personal API key", key: 1,
	keeps: "last_used_at", touches: []string{"last_used_at"}, // Touch does not wait for transactions that change keys
	order: "created_at DESC, number DESC",
	fields: func(k *storage.PersonalKey) []field {
		return []field{
			{"id", &k.ID},
			{"user_id", &k.User},
			{"label", &k.Label},
			{"mask_value", &k.Mask},
			{"secure_value", &k.Hash},
			{"scopes", jsonList[string]{&k.Scopes}},
			{"scoped_projects", jsonList[int64]{&k.Projects}},
			{"scoped_organizations", jsonList[uuid.UUID]{&k.Organizations}},
			{"created_at", moment{&k.Created}},
			{"last_used_at", maybeMoment{&k.LastUsed}},
			{"last_rolled_at", maybeMoment{&k.LastRolled}},
		}
	},
})

// Keys implements [storage.Store].
func (a *accounts) Keys() storage.Table[storage.PersonalKey] {
	return port[storage.PersonalKey]{keys, a}
}
