package storetest

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testEmailTokens(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	full := storage.EmailToken{
		User: ann.ID, Hash: binary, CodeHash: append([]byte("code"), binary...), Target: "zoë@example.com", Attempts: 5,
		Created: s.now, Expires: s.now.Add(time.Hour),
	}
	wantAllSet(t, full)
	bare := storage.EmailToken{User: bob.ID, Hash: []byte("b"), Created: s.now, Expires: s.now}
	for _, token := range []*storage.EmailToken{&full, &bare} {
		wantErr(t, "EmailTokens.Get before there is one", storage.ErrNotFound)(s.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(token.User)))
		must(t, s.EmailTokens().Set(ctx, token))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "EmailTokens.Get", &full)(store.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(full.User)))
			want(t, "EmailTokens.Get", &bare)(store.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(bare.User)))
		}
	}
	check()
	full.User, bare.User = bob.ID, ann.ID
	must(t, s.EmailTokens().Set(ctx, &bare))
	must(t, s.EmailTokens().Set(ctx, &full))
	check()
	wantError(t, "EmailTokens.Set of nobody", storage.ErrNotFound,
		s.EmailTokens().Set(ctx, &storage.EmailToken{User: 99, Hash: []byte("c"), Created: s.now, Expires: s.now}))
	for _, n := range []int{1, 0} {
		want(t, "EmailTokens.DeleteAll", n)(s.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(ann.ID)))
	}
	want(t, "EmailTokens.DeleteAll of nobody", 0)(s.EmailTokens().DeleteAll(ctx, storage.EmailTokenUser.Is(99)))
	wantErr(t, "EmailTokens.Get that is deleted", storage.ErrNotFound)(s.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(ann.ID)))
	want(t, "EmailTokens.Get of another", &full)(s.EmailTokens().Get(ctx, storage.EmailTokenUser.Is(bob.ID)))
}
