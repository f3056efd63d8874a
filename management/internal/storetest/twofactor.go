package storetest

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// binary is not text in any encoding.
var binary = []byte{0, 0xff, '\'', 0x80, '\\', 0}

func testTOTP(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob, eve := s.user(t, "ann"), s.user(t, "bob"), s.user(t, "eve")
	full := storage.TOTP{
		User: bob.ID, Secret: binary, Drift: -2, LastStep: 1 << 40, Failures: 3, FailedAt: new(s.now.Add(time.Second)), Created: s.now,
	}
	wantAllSet(t, full)
	bare := storage.TOTP{User: ann.ID, Secret: []byte("s"), Created: s.now}
	for _, d := range []*storage.TOTP{&full, &bare} {
		wantErr(t, "TOTP before there is one", storage.ErrNotFound)(s.TOTP(ctx, d.User))
		must(t, s.SetTOTP(ctx, d))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "TOTP", &full)(store.TOTP(ctx, full.User))
			want(t, "TOTP", &bare)(store.TOTP(ctx, bare.User))
		}
	}
	check()
	want(t, "WithTOTP", []int64{ann.ID, bob.ID})(s.WithTOTP(ctx, []int64{eve.ID, bob.ID, 99, ann.ID, bob.ID}))
	want(t, "WithTOTP of many", []int64{ann.ID, bob.ID})(s.WithTOTP(ctx, many(eve.ID, bob.ID, ann.ID)))
	want(t, "WithTOTP of one", []int64{bob.ID})(s.WithTOTP(ctx, []int64{bob.ID}))
	want(t, "WithTOTP of nobody", []int64(nil))(s.WithTOTP(ctx, nil))
	wantError(t, "SetTOTP of nobody", storage.ErrNotFound, s.SetTOTP(ctx, &storage.TOTP{User: 99, Secret: binary, Created: s.now}))

	full.User, bare.User = bare.User, full.User
	must(t, s.SetTOTP(ctx, &full))
	must(t, s.SetTOTP(ctx, &bare))
	check()
	must(t, s.DeleteTOTP(ctx, full.User))
	must(t, s.DeleteTOTP(ctx, full.User))
	wantErr(t, "TOTP that is deleted", storage.ErrNotFound)(s.TOTP(ctx, full.User))
	want(t, "TOTP", &bare)(s.TOTP(ctx, bare.User))
	want(t, "WithTOTP", []int64{bare.User})(s.WithTOTP(ctx, []int64{ann.ID, bob.ID}))
}

func testPendingTOTP(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	p := storage.PendingTOTP{User: ann.ID, Secret: binary, Attempts: 4, Expires: s.now}
	wantAllSet(t, p)
	wantErr(t, "PendingTOTP before there is one", storage.ErrNotFound)(s.PendingTOTP(ctx, ann.ID))
	must(t, s.SetPendingTOTP(ctx, &p))
	must(t, s.SetPendingTOTP(ctx, &storage.PendingTOTP{User: bob.ID, Secret: binary, Expires: s.now}))
	want(t, "PendingTOTP", &p)(s.another(t).PendingTOTP(ctx, ann.ID))
	p.Secret, p.Attempts, p.Expires = []byte("another"), 0, s.now.Add(time.Microsecond)
	must(t, s.SetPendingTOTP(ctx, &p))
	want(t, "PendingTOTP that was replaced", &p)(s.PendingTOTP(ctx, ann.ID))
	wantErr(t, "TOTP of who has a pending one", storage.ErrNotFound)(s.TOTP(ctx, ann.ID))
	must(t, s.DeletePendingTOTP(ctx, bob.ID))
	must(t, s.DeletePendingTOTP(ctx, bob.ID))
	wantErr(t, "PendingTOTP that is deleted", storage.ErrNotFound)(s.PendingTOTP(ctx, bob.ID))
	want(t, "PendingTOTP of another", &p)(s.PendingTOTP(ctx, ann.ID))
	p.User = 99
	wantError(t, "SetPendingTOTP of nobody", storage.ErrNotFound, s.SetPendingTOTP(ctx, &p))
}

func testBackupCodes(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	want(t, "BackupCodes before there are any", []storage.BackupCode(nil))(s.BackupCodes(ctx, ann.ID))
	codes := func(user int64, hashes ...string) []storage.BackupCode {
		var list []storage.BackupCode
		for _, h := range hashes {
			list = append(list, storage.BackupCode{User: user, Hash: []byte(h), Created: s.now})
		}
		return list
	}
	must(t, s.SetBackupCodes(ctx, ann.ID, codes(ann.ID, "old 1", "old 2")))
	of := map[int64][]storage.BackupCode{
		ann.ID: codes(ann.ID, "z", string(binary), "a", "m"), // not in any other order
		bob.ID: codes(bob.ID, "a", "b"),
	}
	for i := range of[ann.ID] {
		of[ann.ID][i].Sealed = append([]byte{byte(i)}, binary...)
	}
	wantAllSet(t, of[ann.ID][0])
	for user, list := range of {
		must(t, s.SetBackupCodes(ctx, user, list))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for user, list := range of {
				want(t, "BackupCodes", list)(store.BackupCodes(ctx, user))
			}
		}
	}
	check()
	use := func(user int64, hash string, ok bool) {
		t.Helper()
		if got, err := s.UseBackupCode(ctx, user, []byte(hash)); got != ok || err != nil {
			t.Errorf("UseBackupCode(%d, %q) = %v, %v; want %v", user, hash, got, err, ok)
		}
	}
	use(ann.ID, "old 1", false)
	use(ann.ID, "b", false) // another's
	use(99, "a", false)
	check()
	use(ann.ID, string(binary), true)
	use(ann.ID, string(binary), false)
	use(ann.ID, "a", true)
	of[ann.ID] = []storage.BackupCode{of[ann.ID][0], of[ann.ID][3]}
	check()
	wantError(t, "SetBackupCodes of nobody", storage.ErrNotFound, s.SetBackupCodes(ctx, 99, codes(99, "a")))
	must(t, s.SetBackupCodes(ctx, ann.ID, nil))
	of[ann.ID] = nil
	check()
}

func testSealed(t *testing.T, s *suite) {
	ctx := t.Context()
	want(t, "Sealed of nothing", map[[3]byte]int{})(s.Sealed(ctx))
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	must(t, s.SetTOTP(ctx, &storage.TOTP{User: ann.ID, Secret: []byte("\x01abrest"), Created: s.now}))
	must(t, s.SetTOTP(ctx, &storage.TOTP{User: bob.ID, Secret: []byte("\x01\x00\xffrest"), Created: s.now}))
	must(t, s.SetBackupCodes(ctx, ann.ID, []storage.BackupCode{
		{Hash: []byte("a"), Sealed: []byte("\x01aba"), Created: s.now},
		{Hash: []byte("b"), Sealed: []byte("\x01abb"), Created: s.now},
		{Hash: []byte("c"), Created: s.now}, // which is shown only once
	}))
	f := s.flag(t, s.project(t, s.organization(t, "acme")), "encrypted")
	f.EncryptedPayloads = true
	f.Filters = filtersOf(`{"groups":[],"payloads":{"a":"sealed:AWFiMTIz","b":"sealed:AWFj","c":"other:AWFj"}}`)
	must(t, s.UpdateFlag(ctx, f))
	want(t, "Sealed", map[[3]byte]int{{1, 'a', 'b'}: 4, {1, 0, 0xff}: 1, {1, 'a', 'c'}: 1})(s.Sealed(ctx))
}
