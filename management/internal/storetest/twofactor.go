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
		wantErr(t, "TOTP before there is one", storage.ErrNotFound)(s.TOTPs().Get(ctx, storage.TOTPUser.Is(d.User)))
		must(t, s.TOTPs().Set(ctx, d))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "TOTP", &full)(store.TOTPs().Get(ctx, storage.TOTPUser.Is(full.User)))
			want(t, "TOTP", &bare)(store.TOTPs().Get(ctx, storage.TOTPUser.Is(bare.User)))
		}
	}
	check()
	want(t, "TOTPs.List", []int64{ann.ID, bob.ID})(usersOf(s.TOTPs().List(ctx, storage.TOTPUser.In([]int64{eve.ID, bob.ID, 99, ann.ID, bob.ID}))))
	want(t, "TOTPs.List of many", []int64{ann.ID, bob.ID})(usersOf(s.TOTPs().List(ctx, storage.TOTPUser.In(many(eve.ID, bob.ID, ann.ID)))))
	want(t, "TOTPs.List of one", []int64{bob.ID})(usersOf(s.TOTPs().List(ctx, storage.TOTPUser.In([]int64{bob.ID}))))
	want(t, "TOTPs.List of nobody", []int64(nil))(usersOf(s.TOTPs().List(ctx, storage.TOTPUser.In(nil))))
	wantError(t, "TOTPs.Set of nobody", storage.ErrNotFound, s.TOTPs().Set(ctx, &storage.TOTP{User: 99, Secret: binary, Created: s.now}))

	full.User, bare.User = bare.User, full.User
	must(t, s.TOTPs().Set(ctx, &full))
	must(t, s.TOTPs().Set(ctx, &bare))
	check()
	want(t, "DeleteAll of an authenticator", 1)(s.TOTPs().DeleteAll(ctx, storage.TOTPUser.Is(full.User)))
	want(t, "DeleteAll of an authenticator", 0)(s.TOTPs().DeleteAll(ctx, storage.TOTPUser.Is(full.User)))
	wantErr(t, "TOTP that is deleted", storage.ErrNotFound)(s.TOTPs().Get(ctx, storage.TOTPUser.Is(full.User)))
	want(t, "TOTP", &bare)(s.TOTPs().Get(ctx, storage.TOTPUser.Is(bare.User)))
	want(t, "TOTPs.List", []int64{bare.User})(usersOf(s.TOTPs().List(ctx, storage.TOTPUser.In([]int64{ann.ID, bob.ID}))))
}

func testPendingTOTP(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	p := storage.PendingTOTP{User: ann.ID, Secret: binary, Attempts: 4, Expires: s.now}
	wantAllSet(t, p)
	wantErr(t, "PendingTOTPs.Get before there is one", storage.ErrNotFound)(s.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(ann.ID)))
	must(t, s.PendingTOTPs().Set(ctx, &p))
	must(t, s.PendingTOTPs().Set(ctx, &storage.PendingTOTP{User: bob.ID, Secret: binary, Expires: s.now}))
	want(t, "PendingTOTPs.Get", &p)(s.another(t).PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(ann.ID)))
	p.Secret, p.Attempts, p.Expires = []byte("another"), 0, s.now.Add(time.Microsecond)
	must(t, s.PendingTOTPs().Set(ctx, &p))
	want(t, "PendingTOTPs.Get that was replaced", &p)(s.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(ann.ID)))
	wantErr(t, "the authenticator of a user with a pending one", storage.ErrNotFound)(s.TOTPs().Get(ctx, storage.TOTPUser.Is(ann.ID)))
	want(t, "DeleteAll of a pending authenticator", 1)(s.PendingTOTPs().DeleteAll(ctx, storage.PendingTOTPUser.Is(bob.ID)))
	want(t, "DeleteAll of a pending authenticator", 0)(s.PendingTOTPs().DeleteAll(ctx, storage.PendingTOTPUser.Is(bob.ID)))
	wantErr(t, "PendingTOTPs.Get that is deleted", storage.ErrNotFound)(s.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(bob.ID)))
	want(t, "PendingTOTPs.Get of another", &p)(s.PendingTOTPs().Get(ctx, storage.PendingTOTPUser.Is(ann.ID)))
	p.User = 99
	wantError(t, "PendingTOTPs.Set of nobody", storage.ErrNotFound, s.PendingTOTPs().Set(ctx, &p))
}

func testBackupCodes(t *testing.T, s *suite) {
	ctx := t.Context()
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	want(t, "BackupCodes.List before there are any", []storage.BackupCode(nil))(s.BackupCodes().List(ctx, storage.BackupCodeUser.Is(ann.ID)))
	codes := func(user int64, hashes ...string) []storage.BackupCode {
		var list []storage.BackupCode
		for _, h := range hashes {
			list = append(list, storage.BackupCode{User: user, Hash: []byte(h), Created: s.now})
		}
		return list
	}
	set := func(user int64, list []storage.BackupCode) error {
		if _, err := s.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(user)); err != nil {
			return err
		}
		pointers := make([]*storage.BackupCode, len(list))
		for i := range list {
			pointers[i] = &list[i]
		}
		return s.BackupCodes().Create(ctx, pointers...)
	}
	must(t, set(ann.ID, codes(ann.ID, "old 1", "old 2")))
	of := map[int64][]storage.BackupCode{
		ann.ID: codes(ann.ID, "z", string(binary), "a", "m"), // not in any other order
		bob.ID: codes(bob.ID, "a", "b"),
	}
	for i := range of[ann.ID] {
		of[ann.ID][i].Sealed = append([]byte{byte(i)}, binary...)
	}
	wantAllSet(t, of[ann.ID][0])
	for user, list := range of {
		must(t, set(user, list))
	}
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for user, list := range of {
				want(t, "BackupCodes.List", list)(store.BackupCodes().List(ctx, storage.BackupCodeUser.Is(user)))
			}
		}
	}
	check()
	use := func(user int64, hash string, ok bool) {
		t.Helper()
		if got, err := one(s.BackupCodes().DeleteAll(ctx, storage.BackupCodeUser.Is(user), storage.BackupCodeHash.Is([]byte(hash)))); got != ok || err != nil {
			t.Errorf("BackupCodes.DeleteAll(%d, %q) = %v, %v; want %v", user, hash, got, err, ok)
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
	wantError(t, "a backup code of nobody", storage.ErrNotFound, set(99, codes(99, "a")))
	must(t, set(ann.ID, nil))
	of[ann.ID] = nil
	check()
}

func testSealed(t *testing.T, s *suite) {
	ctx := t.Context()
	want(t, "Sealed of nothing", map[[3]byte]int{})(s.Sealed(ctx))
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	must(t, s.TOTPs().Set(ctx, &storage.TOTP{User: ann.ID, Secret: []byte("\x01abrest"), Created: s.now}))
	must(t, s.TOTPs().Set(ctx, &storage.TOTP{User: bob.ID, Secret: []byte("\x01\x00\xffrest"), Created: s.now}))
	must(t, s.BackupCodes().Create(
		ctx,
		&storage.BackupCode{User: ann.ID, Hash: []byte("a"), Sealed: []byte("\x01aba"), Created: s.now},
		&storage.BackupCode{User: ann.ID, Hash: []byte("b"), Sealed: []byte("\x01abb"), Created: s.now},
		&storage.BackupCode{User: ann.ID, Hash: []byte("c"), Created: s.now}, // which is shown only once
	))
	f := s.flag(t, s.project(t, s.organization(t, "acme")), "encrypted")
	f.EncryptedPayloads = true
	f.Filters = filtersOf(`{"groups":[],"payloads":{"a":"sealed:AWFiMTIz","b":"sealed:AWFj","c":"other:AWFj"}}`)
	must(t, s.Flags().Update(ctx, f))
	want(t, "Sealed", map[[3]byte]int{{1, 'a', 'b'}: 4, {1, 0, 0xff}: 1, {1, 'a', 'c'}: 1})(s.Sealed(ctx))
}

// usersOf returns the users of authenticators.
func usersOf(list []storage.TOTP, err error) (users []int64, _ error) {
	for _, d := range list {
		users = append(users, d.User)
	}
	return users, err
}

// one reports whether a DeleteAll has deleted one thing.
func one(n int, err error) (bool, error) { return n == 1, err }
