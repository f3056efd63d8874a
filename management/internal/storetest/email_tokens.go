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
		wantErr(t, "EmailToken before there is one", storage.ErrNotFound)(s.EmailToken(ctx, token.User))
		must(t, s.SetEmailToken(ctx, token))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "EmailToken", &full)(store.EmailToken(ctx, full.User))
			want(t, "EmailToken", &bare)(store.EmailToken(ctx, bare.User))
		}
	}
	check()
	full.User, bare.User = bob.ID, ann.ID
	must(t, s.SetEmailToken(ctx, &bare))
	must(t, s.SetEmailToken(ctx, &full))
	check()
	wantError(t, "SetEmailToken of nobody", storage.ErrNotFound,
		s.SetEmailToken(ctx, &storage.EmailToken{User: 99, Hash: []byte("c"), Created: s.now, Expires: s.now}))
	for _, ok := range []bool{true, false} {
		want(t, "DeleteEmailToken", ok)(s.DeleteEmailToken(ctx, ann.ID))
	}
	want(t, "DeleteEmailToken of nobody", false)(s.DeleteEmailToken(ctx, 99))
	wantErr(t, "EmailToken that is deleted", storage.ErrNotFound)(s.EmailToken(ctx, ann.ID))
	want(t, "EmailToken of another", &full)(s.EmailToken(ctx, bob.ID))
}
