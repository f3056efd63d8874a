package storetest

import (
	"errors"
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
		must(t, s.Sessions().Create(ctx, v))
	}
	type list = []storage.Session
	check := func(ofAnn, ofBob list) {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "Sessions", ofAnn)(store.Sessions().List(ctx, storage.SessionUser.Is(ann.ID)))
			want(t, "Sessions", ofBob)(store.Sessions().List(ctx, storage.SessionUser.Is(bob.ID)))
			want(t, "Sessions of nobody", list(nil))(store.Sessions().List(ctx, storage.SessionUser.Is(99)))
			for _, v := range append(ofAnn[:len(ofAnn):len(ofAnn)], ofBob...) {
				want(t, "Sessions.Get", &v)(store.Sessions().Get(ctx, storage.SessionHash.Is(v.Hash)))
			}
		}
	}
	check(list{full, bare}, list{other})
	wantErr(t, "Sessions.Get of none", storage.ErrNotFound)(s.Sessions().Get(ctx, storage.SessionHash.Is([]byte("none"))))
	wantErr(t, "Sessions.Get of the beginning of one", storage.ErrNotFound)(s.Sessions().Get(ctx, storage.SessionHash.Is([]byte("ba"))))

	taken, foreign, unknown, homeless := bare, bare, bare, bare
	taken.Hash = full.Hash
	foreign.User = bob.ID
	unknown.ID = uuid.New()
	homeless.User, homeless.ID, homeless.Hash = 99, uuid.New(), []byte("homeless")
	fresh := taken
	fresh.ID = uuid.New()
	for call, tt := range map[string]struct{ err, want error }{
		"Sessions.Update with a hash that is taken": {s.Sessions().Update(ctx, &taken), storage.ErrConflict},
		"Sessions.Create with a hash that is taken": {s.Sessions().Create(ctx, &fresh), storage.ErrConflict},
		"Sessions.Create with an ID that is taken":  {s.Sessions().Create(ctx, &storage.Session{ID: full.ID, User: ann.ID, Hash: []byte("x"), Created: s.now, Seen: s.now}), storage.ErrConflict},
		"Sessions.Create of nobody":                 {s.Sessions().Create(ctx, &homeless), storage.ErrNotFound},
		"Sessions.Update of another user":           {s.Sessions().Update(ctx, &foreign), storage.ErrNotFound},
		"Sessions.Update that is unknown":           {s.Sessions().Update(ctx, &unknown), storage.ErrNotFound},
		"Sessions.Delete of another user":           {s.Sessions().Delete(ctx, storage.SessionUser.Is(bob.ID), storage.SessionID.Is(bare.ID)), storage.ErrNotFound},
		"Sessions.Delete that is unknown":           {s.Sessions().Delete(ctx, storage.SessionUser.Is(ann.ID), storage.SessionID.Is(unknown.ID)), storage.ErrNotFound},
	} {
		wantError(t, call, tt.want, tt.err)
	}
	check(list{full, bare}, list{other})

	full.Hash, full.Pending, full.Created, full.Seen, full.Address, full.Browser = []byte("new"), false, s.now.Add(time.Minute), s.now.Add(time.Second), "", ""
	must(t, s.Sessions().Update(ctx, &full))
	wantErr(t, "Sessions.Get of before", storage.ErrNotFound)(s.Sessions().Get(ctx, storage.SessionHash.Is([]byte("\x00full\xff"))))
	check(list{bare, full}, list{other})
	seen := full
	seen.Seen, seen.Address, seen.Browser, seen.Hash, seen.Pending = s.now.Add(3*time.Hour), "192.0.2.1", "é", []byte("ignored"), true
	must(t, s.Sessions().Touch(ctx, &seen))
	must(t, s.Sessions().Touch(ctx, &unknown))
	full.Seen, full.Address, full.Browser = seen.Seen, seen.Address, seen.Browser
	check(list{full, bare}, list{other})

	old := func(seen, created time.Time) error {
		_, err1 := s.Sessions().DeleteAll(ctx, storage.SessionSeen.Before(seen))
		_, err2 := s.Sessions().DeleteAll(ctx, storage.SessionCreated.Before(created))
		return errors.Join(err1, err2)
	}
	must(t, old(other.Seen, s.now))
	check(list{full, bare}, list{other}) // none is older than these times
	must(t, old(other.Seen.Add(time.Microsecond), s.now))
	check(list{full, bare}, nil)
	must(t, old(s.now, bare.Created.Add(time.Microsecond)))
	check(list{full}, nil)

	must(t, s.Sessions().Create(ctx, &bare))
	must(t, s.Sessions().Create(ctx, &other))
	want(t, "Sessions.DeleteAll but one", 1)(s.Sessions().DeleteAll(ctx, storage.SessionUser.Is(ann.ID), storage.SessionID.IsNot(full.ID)))
	want(t, "Sessions.DeleteAll again", 0)(s.Sessions().DeleteAll(ctx, storage.SessionUser.Is(ann.ID), storage.SessionID.IsNot(full.ID)))
	check(list{full}, list{other})
	want(t, "Sessions.DeleteAll but one of another user", 1)(s.Sessions().DeleteAll(ctx, storage.SessionUser.Is(ann.ID), storage.SessionID.IsNot(other.ID)))
	check(nil, list{other})
	must(t, s.Sessions().Create(ctx, &full))
	must(t, s.Sessions().Delete(ctx, storage.SessionUser.Is(ann.ID), storage.SessionID.Is(full.ID)))
	check(nil, list{other})

	bob.FirstName = "still here"
	must(t, s.Users().Update(ctx, bob))
	check(nil, list{other})
	bob.Active = false
	must(t, s.Users().Update(ctx, bob))
	check(nil, nil)
	must(t, s.Sessions().Create(ctx, &full))
	must(t, s.Users().Delete(ctx, storage.UserID.Is(ann.ID)))
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
				want(t, "Link", l)(store.Links().Get(ctx, storage.LinkHash.Is(l.Hash)))
				delete(left, string(l.Hash))
			}
			for hash := range left {
				wantErr(t, "Link that is not there", storage.ErrNotFound)(store.Links().Get(ctx, storage.LinkHash.Is([]byte(hash))))
			}
		}
	}
	check()
	for _, l := range []*storage.Link{&full, &reset, &other} {
		must(t, s.Links().Set(ctx, l))
	}
	check(&full, &reset, &other)
	full.Hash, full.Expires, full.Target = []byte("new"), s.now.Add(2*time.Hour), ""
	must(t, s.Links().Set(ctx, &full)) // in place of the one before
	check(&full, &reset, &other)
	taken, homeless := reset, reset
	taken.Hash = other.Hash
	homeless.User, homeless.Hash = 99, []byte("homeless")
	wantError(t, "Links.Set with a hash that is taken", storage.ErrConflict, s.Links().Set(ctx, &taken))
	wantError(t, "Links.Set of nobody", storage.ErrNotFound, s.Links().Set(ctx, &homeless))
	check(&full, &reset, &other)
	want(t, "DeleteAll of links", 2)(s.Links().DeleteAll(ctx, storage.LinkUser.Is(ann.ID)))
	want(t, "DeleteAll of links", 0)(s.Links().DeleteAll(ctx, storage.LinkUser.Is(ann.ID)))
	want(t, "DeleteAll of links", 0)(s.Links().DeleteAll(ctx, storage.LinkUser.Is(99)))
	check(&other)
	must(t, s.Links().Set(ctx, &full))
	must(t, s.Users().Delete(ctx, storage.UserID.Is(ann.ID)))
	check(&other)
	bob.Active = false
	must(t, s.Users().Update(ctx, bob))
	check()
}
