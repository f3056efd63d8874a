package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testSessions(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	full := storage.Session{
		ID: uuid.New(), User: ann.ID, Hash: []byte("\x00full\xff"), Pending: true, Address: "2001:db8::1", Browser: "Firefox on Linux", Created: s.now, Seen: s.now.Add(2 * time.Hour),
	}
	wantAllSet(t, full)
	bare := storage.Session{ID: uuid.New(), User: ann.ID, Hash: []byte("bare"), Created: s.now.Add(time.Microsecond), Seen: s.now.Add(time.Hour)}
	other := storage.Session{ID: uuid.New(), User: bob.ID, Hash: []byte("other"), Created: s.now, Seen: s.now}
	for _, v := range []*storage.Session{&bare, &other, &full} {
		must(t, s.CreateSession(ctx, v))
	}
	type list = []storage.Session
	check := func(ofAnn, ofBob list) {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "Sessions", ofAnn)(store.Sessions(ctx, ann.ID))
			want(t, "Sessions", ofBob)(store.Sessions(ctx, bob.ID))
			want(t, "Sessions of nobody", list(nil))(store.Sessions(ctx, 99))
			for _, v := range append(ofAnn[:len(ofAnn):len(ofAnn)], ofBob...) {
				want(t, "SessionByHash", &v)(store.SessionByHash(ctx, v.Hash))
			}
		}
	}
	check(list{full, bare}, list{other})
	wantErr(t, "SessionByHash of none", storage.ErrNotFound)(s.SessionByHash(ctx, []byte("none")))
	wantErr(t, "SessionByHash of the beginning of one", storage.ErrNotFound)(s.SessionByHash(ctx, []byte("ba")))

	taken, foreign, unknown, homeless := bare, bare, bare, bare
	taken.Hash = full.Hash
	foreign.User = bob.ID
	unknown.ID = uuid.New()
	homeless.User, homeless.ID, homeless.Hash = 99, uuid.New(), []byte("homeless")
	fresh := taken
	fresh.ID = uuid.New()
	for call, tt := range map[string]struct{ err, want error }{
		"UpdateSession with a hash that is taken": {s.UpdateSession(ctx, &taken), storage.ErrConflict},
		"CreateSession with a hash that is taken": {s.CreateSession(ctx, &fresh), storage.ErrConflict},
		"CreateSession with an ID that is taken":  {s.CreateSession(ctx, &storage.Session{ID: full.ID, User: ann.ID, Hash: []byte("x"), Created: s.now, Seen: s.now}), storage.ErrConflict},
		"CreateSession of nobody":                 {s.CreateSession(ctx, &homeless), storage.ErrNotFound},
		"UpdateSession of another user":           {s.UpdateSession(ctx, &foreign), storage.ErrNotFound},
		"UpdateSession that is unknown":           {s.UpdateSession(ctx, &unknown), storage.ErrNotFound},
		"DeleteSession of another user":           {s.DeleteSession(ctx, bob.ID, bare.ID), storage.ErrNotFound},
		"DeleteSession that is unknown":           {s.DeleteSession(ctx, ann.ID, unknown.ID), storage.ErrNotFound},
	} {
		wantError(t, call, tt.want, tt.err)
	}
	check(list{full, bare}, list{other})

	full.Hash, full.Pending, full.Created, full.Seen, full.Address, full.Browser = []byte("new"), false, s.now.Add(time.Minute), s.now.Add(time.Second), "", ""
	must(t, s.UpdateSession(ctx, &full))
	wantErr(t, "SessionByHash of before", storage.ErrNotFound)(s.SessionByHash(ctx, []byte("\x00full\xff")))
	check(list{bare, full}, list{other})
	seen := full
	seen.Seen, seen.Address, seen.Browser, seen.Hash, seen.Pending = s.now.Add(3*time.Hour), "192.0.2.1", "é", []byte("ignored"), true
	must(t, s.TouchSession(ctx, &seen))
	must(t, s.TouchSession(ctx, &unknown))
	full.Seen, full.Address, full.Browser = seen.Seen, seen.Address, seen.Browser
	check(list{full, bare}, list{other})

	must(t, s.DeleteOldSessions(ctx, other.Seen, s.now))
	check(list{full, bare}, list{other}) // none is older than these times
	must(t, s.DeleteOldSessions(ctx, other.Seen.Add(time.Microsecond), s.now))
	check(list{full, bare}, nil)
	must(t, s.DeleteOldSessions(ctx, s.now, bare.Created.Add(time.Microsecond)))
	check(list{full}, nil)

	must(t, s.CreateSession(ctx, &bare))
	must(t, s.CreateSession(ctx, &other))
	want(t, "DeleteSessions but one", 1)(s.DeleteSessions(ctx, ann.ID, full.ID))
	want(t, "DeleteSessions again", 0)(s.DeleteSessions(ctx, ann.ID, full.ID))
	check(list{full}, list{other})
	want(t, "DeleteSessions but one of another user", 1)(s.DeleteSessions(ctx, ann.ID, other.ID))
	check(nil, list{other})
	must(t, s.CreateSession(ctx, &full))
	must(t, s.DeleteSession(ctx, ann.ID, full.ID))
	check(nil, list{other})

	bob.FirstName = "still here"
	must(t, s.UpdateUser(ctx, bob))
	check(nil, list{other})
	bob.Active = false
	must(t, s.UpdateUser(ctx, bob))
	check(nil, nil)
	must(t, s.CreateSession(ctx, &full))
	must(t, s.DeleteUser(ctx, ann.ID))
	check(nil, nil)
}

func testLinks(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	full := storage.Link{User: ann.ID, Kind: storage.LinkSignIn, Hash: []byte("\x00full\xff"), Target: ann.Email, Created: s.now, Expires: s.now.Add(time.Hour)}
	wantAllSet(t, full)
	reset := storage.Link{User: ann.ID, Kind: storage.LinkPasswordReset, Hash: []byte("reset"), Created: s.now, Expires: s.now}
	other := storage.Link{User: bob.ID, Kind: storage.LinkSignIn, Hash: []byte("other"), Created: s.now, Expires: s.now}
	check := func(there ...*storage.Link) {
		t.Helper()
		left := map[string]bool{"\x00full\xff": true, "reset": true, "other": true, "new": true}
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, l := range there {
				want(t, "Link", l)(store.Link(ctx, l.Hash))
				delete(left, string(l.Hash))
			}
			for hash := range left {
				wantErr(t, "Link that is not there", storage.ErrNotFound)(store.Link(ctx, []byte(hash)))
			}
		}
	}
	check()
	for _, l := range []*storage.Link{&full, &reset, &other} {
		must(t, s.SetLink(ctx, l))
	}
	check(&full, &reset, &other)
	full.Hash, full.Expires, full.Target = []byte("new"), s.now.Add(2*time.Hour), ""
	must(t, s.SetLink(ctx, &full)) // in place of the one before
	check(&full, &reset, &other)
	taken, homeless := reset, reset
	taken.Hash = other.Hash
	homeless.User, homeless.Hash = 99, []byte("homeless")
	wantError(t, "SetLink with a hash that is taken", storage.ErrConflict, s.SetLink(ctx, &taken))
	wantError(t, "SetLink of nobody", storage.ErrNotFound, s.SetLink(ctx, &homeless))
	check(&full, &reset, &other)
	must(t, s.DeleteLinks(ctx, ann.ID))
	must(t, s.DeleteLinks(ctx, ann.ID))
	must(t, s.DeleteLinks(ctx, 99))
	check(&other)
	must(t, s.SetLink(ctx, &full))
	must(t, s.DeleteUser(ctx, ann.ID))
	check(&other)
	bob.Active = false
	must(t, s.UpdateUser(ctx, bob))
	check()
}
