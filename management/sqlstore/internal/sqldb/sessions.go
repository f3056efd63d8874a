package sqldb

import "github.com/flagstaff-go/flagstaff/management/storage"

var sessions = newTable(table[storage.Session]{
	name: "user_session", noun: "a session", key: 2, order: "last_seen_at DESC, id DESC",
	touches: []string{"last_seen_at", "address", "browser"},
	fields: func(s *storage.Session) []field {
		return []field{
			{"id", &s.ID},
			{"user_id", &s.User},
			{"token_hash", &s.Hash},
			{"pending", &s.Pending},
			{"address", &s.Address},
			{"browser", &s.Browser},
			{"created_at", moment{&s.Created}},
			{"last_seen_at", moment{&s.Seen}},
		}
	},
})

// Sessions implements [storage.Store].
func (a *accounts) Sessions() storage.Table[storage.Session] {
	return port[storage.Session]{sessions, a}
}

var links = newTable(table[storage.Link]{
	name: "user_link", noun: "a link", key: 2, order: "created_at",
	fields: func(l *storage.Link) []field {
		return []field{
			{"user_id", &l.User},
			{"kind", &l.Kind},
			{"token_hash", &l.Hash},
			{"target_email", &l.Target},
			{"created_at", moment{&l.Created}},
			{"expires_at", moment{&l.Expires}},
		}
	},
})

// Links implements [storage.Store].
func (a *accounts) Links() storage.Table[storage.Link] { return port[storage.Link]{links, a} }
