package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testKeys(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	full := storage.PersonalKey{
		ID: "full", User: ann.ID, Label: strings.Repeat("é", 40), Mask: "phx_...abcd", Hash: storage.HashKey("phx_full"),
		Scopes: []string{"user:read", "feature_flag:write"}, Projects: []int64{7, 1<<53 + 1}, Organizations: []uuid.UUID{uuid.New(), uuid.New()},
		Created: s.now, LastUsed: new(s.now.Add(time.Hour)), LastRolled: new(s.now.Add(time.Minute)),
	}
	wantAllSet(t, full)
	newest := storage.PersonalKey{ID: "newest", User: ann.ID, Hash: storage.HashKey("phx_newest"), Created: s.now.Add(time.Microsecond)}
	oldest := storage.PersonalKey{ID: "oldest", User: ann.ID, Hash: storage.HashKey("phx_oldest"), Created: s.now.Add(-time.Microsecond)}
	other := storage.PersonalKey{ID: "other", User: bob.ID, Hash: storage.HashKey("phx_other"), Created: s.now}
	for _, k := range []*storage.PersonalKey{&full, &newest, &oldest, &other} {
		must(t, s.Keys().Create(ctx, k))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, k := range []*storage.PersonalKey{&full, &newest, &oldest, &other} {
				want(t, "Key", k)(store.Keys().Get(ctx, storage.KeyID.Is(k.ID)))
				want(t, "Keys.Get", k)(store.Keys().Get(ctx, storage.KeyHash.Is(k.Hash)))
			}
			want(t, "Keys", []storage.PersonalKey{newest, full, oldest})(store.Keys().List(ctx, storage.KeyUser.Is(ann.ID)))
		}
	}
	check()
	want(t, "Keys of nobody", []storage.PersonalKey(nil))(s.Keys().List(ctx, storage.KeyUser.Is(99)))
	wantErr(t, "Key", storage.ErrNotFound)(s.Keys().Get(ctx, storage.KeyID.Is("nobody's")))
	wantErr(t, "Keys.Get", storage.ErrNotFound)(s.Keys().Get(ctx, storage.KeyHash.Is(storage.HashKey("phx_nobody"))))

	key := func(id, hash string, user int64) *storage.PersonalKey {
		return &storage.PersonalKey{ID: id, User: user, Label: "never", Hash: hash, Created: s.now}
	}
	for _, tt := range []struct {
		call string
		err  error
		want error
	}{
		{"Keys.Create with an ID that is taken", s.Keys().Create(ctx, key("full", "free", ann.ID)), storage.ErrConflict},
		{"Keys.Create with a hash that is taken", s.Keys().Create(ctx, key("free", other.Hash, ann.ID)), storage.ErrConflict},
		{"Keys.Create of nobody", s.Keys().Create(ctx, key("free", "free", 99)), storage.ErrNotFound},
		{"Keys.Update with a hash that is taken", s.Keys().Update(ctx, key("full", other.Hash, ann.ID)), storage.ErrConflict},
		{"Keys.Update of an unknown key", s.Keys().Update(ctx, key("free", "free", ann.ID)), storage.ErrNotFound},
		{"Keys.Delete of an unknown key", s.Keys().Delete(ctx, storage.KeyID.Is("free")), storage.ErrNotFound},
		{"Keys.Touch of an unknown key", s.Keys().Touch(ctx, &storage.PersonalKey{ID: "free", LastUsed: new(s.now)}), nil},
	} {
		wantError(t, tt.call, tt.want, tt.err)
	}
	check()

	// A key that gets another secret no longer has the old one.
	before := full.Hash
	full.Hash, full.Mask, full.LastRolled = storage.HashKey("phx_rolled"), "phx_...lled", new(s.now.Add(2*time.Hour))
	must(t, s.Keys().Update(ctx, &full))
	check()
	wantErr(t, "Keys.Get of a hash that was replaced", storage.ErrNotFound)(s.Keys().Get(ctx, storage.KeyHash.Is(before)))

	// Everything can be taken away but LastUsed, which Keys.Touch alone sets.
	full = storage.PersonalKey{ID: "full", User: ann.ID, Hash: full.Hash, Created: s.now}
	must(t, s.Keys().Update(ctx, &full))
	full.LastUsed = new(s.now.Add(time.Hour))
	check()
	full.LastUsed = new(s.now.Add(3 * time.Hour))
	must(t, s.Keys().Touch(ctx, &storage.PersonalKey{ID: full.ID, LastUsed: new(*full.LastUsed)}))
	newest.LastUsed = new(s.now)
	must(t, s.Keys().Touch(ctx, &storage.PersonalKey{ID: newest.ID, LastUsed: new(s.now)}))
	check()
	changed := oldest
	changed.LastUsed = new(s.now)
	changed.Scopes, changed.Projects, changed.Organizations = []string{"*"}, []int64{1}, []uuid.UUID{uuid.New()}
	must(t, s.Keys().Update(ctx, &changed))
	oldest, oldest.LastUsed = changed, nil
	check()

	must(t, s.Keys().Delete(ctx, storage.KeyID.Is(full.ID)))
	wantErr(t, "Key that is deleted", storage.ErrNotFound)(s.Keys().Get(ctx, storage.KeyID.Is(full.ID)))
	wantErr(t, "Keys.Get that is deleted", storage.ErrNotFound)(s.Keys().Get(ctx, storage.KeyHash.Is(full.Hash)))
	want(t, "Keys", []storage.PersonalKey{newest, oldest})(s.Keys().List(ctx, storage.KeyUser.Is(ann.ID)))
	wantError(t, "Keys.Delete again", storage.ErrNotFound, s.Keys().Delete(ctx, storage.KeyID.Is(full.ID)))
}
