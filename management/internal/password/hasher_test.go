package password_test

import (
	"context"
	"encoding/base64"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"

	"github.com/flagstaff-go/flagstaff/management/internal/password"
)

const staple = "correct horse battery staple"

func mustHash(tb testing.TB, h *password.Hasher, secret string) string {
	tb.Helper()
	hash, err := h.Hash(tb.Context(), secret)
	if err != nil {
		tb.Fatalf("Hash = %v", err)
	}
	return hash
}

func checkVerify(t *testing.T, h *password.Hasher, hash, secret string, wantOK, wantOutdated bool) {
	t.Helper()
	ok, outdated, err := h.Verify(t.Context(), hash, secret)
	if ok != wantOK || outdated != wantOutdated || err != nil {
		t.Errorf("Verify(%q, %q) = %v, %v, %v; want %v, %v, nil", hash, secret, ok, outdated, err, wantOK, wantOutdated)
	}
}

func TestHash(t *testing.T) {
	h := password.New()
	first, second := mustHash(t, h, staple), mustHash(t, h, staple)
	if first == second {
		t.Errorf("two hashes of one password are equal: %s", first)
	}
	const prefix = "$argon2id$v=19$m=19456,t=2,p=1$"
	fields := strings.Split(first, "$")
	if !strings.HasPrefix(first, prefix) || len(fields) != 6 {
		t.Fatalf("Hash = %q, want %s<salt>$<key>", first, prefix)
	}
	salt, errSalt := base64.RawStdEncoding.DecodeString(fields[4])
	key, errKey := base64.RawStdEncoding.DecodeString(fields[5])
	if errSalt != nil || errKey != nil || len(salt) != 16 || len(key) != 32 {
		t.Fatalf("Hash = %q: salt of %d bytes (%v), key of %d (%v); want 16 and 32", first, len(salt), errSalt, len(key), errKey)
	}
	if want := argon2.IDKey([]byte(staple), salt, 2, 19*1024, 1, 32); string(want) != string(key) {
		t.Errorf("the key in %q is not what argon2 computes", first)
	}
	checkVerify(t, h, first, staple, true, false)
	checkVerify(t, h, first, staple+" ", false, false)
	checkVerify(t, h, first, "", false, false)
}

func TestHashOfAnyString(t *testing.T) {
	h := password.New()
	for _, secret := range []string{"", "a\x00b", "密码", "\xff\xfe", strings.Repeat("ö", 128)} {
		checkVerify(t, h, mustHash(t, h, secret), secret, true, false)
	}
}

// The argon2id hashes are from the reference implementation in C, the bcrypt
// hashes from libxcrypt.
func TestVerifyOtherImplementations(t *testing.T) {
	h := password.New()
	for _, tt := range []struct {
		name, hash, secret string
		outdated           bool
	}{
		{
			"argon2id with current parameters",
			"$argon2id$v=19$m=19456,t=2,p=1$ZmxhZ3N0YWZmLXNhbHQxNg$cJruov/3WWBCxaDoqnT5Ofxt2KrsraPKW8nIKjgWfOc", staple, false,
		},
		{
			"argon2id with less, and in two lanes",
			"$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ", "pässwörd → ключ", true,
		},
		{"bcrypt 2a", "$2a$12$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNy", staple, true},
		{"bcrypt 2b, not ASCII", "$2b$12$N9qo8uLOickgx2ZMRZoMyegERwrThMEYLqPX4Oek5ffZsC2sG1C52", "pässwörd", true},
		{"bcrypt 2y, beyond its 72 bytes", "$2y$12$abcdefghijklmnopqrstuuEdLGPF8sqPlis8hkNuqHPOzaCkRky22", strings.Repeat("x", 100), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkVerify(t, h, tt.hash, tt.secret, true, tt.outdated)
		})
	}
}

func TestOutdated(t *testing.T) {
	h := password.New()
	for _, tt := range []struct {
		name string
		hash password.PHC
		want bool
	}{
		{"current", password.PHC{Memory: 19 * 1024, Passes: 2, Threads: 1, Salt: 16, Key: 32}, false},
		{"less memory", password.PHC{Memory: 12 * 1024, Passes: 2, Threads: 1, Salt: 16, Key: 32}, true},
		{"more memory", password.PHC{Memory: 64 * 1024, Passes: 2, Threads: 1, Salt: 16, Key: 32}, true},
		{"another number of passes", password.PHC{Memory: 19 * 1024, Passes: 3, Threads: 1, Salt: 16, Key: 32}, true},
		{"another number of lanes", password.PHC{Memory: 19 * 1024, Passes: 2, Threads: 2, Salt: 16, Key: 32}, true},
		{"a shorter salt", password.PHC{Memory: 19 * 1024, Passes: 2, Threads: 1, Salt: 8, Key: 32}, true},
		{"a shorter key", password.PHC{Memory: 19 * 1024, Passes: 2, Threads: 1, Salt: 16, Key: 16}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hash := tt.hash.Of(staple)
			checkVerify(t, h, hash, staple, true, tt.want)
			checkVerify(t, h, hash, "another", false, false) // never outdated with a wrong password
		})
	}
}

// notHashes match no password.
var notHashes = []struct{ name, hash string }{
	{"empty", ""},
	{"unusable", "!"},
	{"unusable, with a rest", "!$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"plain text", staple},
	{"argon2i", "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$jG1G5yEseDz5eF06OKiEUTqhR1uHD76C"},
	{"no version", "$argon2id$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"another version", "$argon2id$v=16$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"another order", "$argon2id$v=19$t=1,m=256,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a key id", "$argon2id$v=19$m=256,t=1,p=2,keyid=AA$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a space before", " $argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a space within", "$argon2id$v=19$m= 256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a line break behind", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ\n"},
	{"a sign", "$argon2id$v=19$m=+256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a negative number", "$argon2id$v=19$m=256,t=-1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a leading zero", "$argon2id$v=19$m=0256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a prefix for numbers", "$argon2id$v=19$m=0x100,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"padding", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ=$sn5fTPRFzQJj7fdZk1m7lQ=="},
	{"trailing bits", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHR$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"one field more", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ$"},
	{"one field less", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ"},
	{"no salt", "$argon2id$v=19$m=256,t=1,p=2$$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"no key", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$"},
	{"a short salt", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbA$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a short key", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7"},
	{"a long salt", "$argon2id$v=19$m=256,t=1,p=2$" + strings.Repeat("AAAA", 22) + "$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"a long key", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$" + strings.Repeat("AAAA", 22)},
	{"longer than any hash", "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$" + strings.Repeat("A", 1<<20)},
	{"no passes", "$argon2id$v=19$m=256,t=0,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"no lanes", "$argon2id$v=19$m=256,t=1,p=0$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"too little memory for its lanes", "$argon2id$v=19$m=15,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"too much memory", "$argon2id$v=19$m=262145,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"as much memory as there is", "$argon2id$v=19$m=4294967295,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"more memory than there is", "$argon2id$v=19$m=4294967552,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"too many passes", "$argon2id$v=19$m=256,t=17,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"too many lanes", "$argon2id$v=19$m=256,t=1,p=17$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"more lanes than fit", "$argon2id$v=19$m=256,t=1,p=258$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ"},
	{"bcrypt that is too cheap", "$2b$10$abcdefghijklmnopqrstuuGGgFFcYeueaAql8Z7U7CnCTRw4DR77W"},
	{"bcrypt that is too dear", "$2b$16$abcdefghijklmnopqrstuuGGgFFcYeueaAql8Z7U7CnCTRw4DR77W"},
	{"bcrypt of an unknown kind", "$2x$12$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNy"},
	{"bcrypt that is cut", "$2b$12$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWN"},
	{"bcrypt with a rest", "$2b$12$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNyy"},
	{"bcrypt with a sign that it has not", "$2b$12$abcdefghijklmn_pqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNy"},
	{"bcrypt with a cost that is none", "$2b$1x$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNy"},
}

func TestNotAHash(t *testing.T) {
	for _, tt := range notHashes {
		t.Run(tt.name, func(t *testing.T) {
			if password.Understood(tt.hash) {
				t.Errorf("%q is understood", tt.hash)
			}
		})
	}
}

// A hash that is not understood must cost as much as a good one, or the time
// would tell accounts apart. The test measures memory, which shows the same and
// is exact.
func TestVerifyWithoutAHash(t *testing.T) {
	const want = 19 << 20
	h := password.New()
	for _, hash := range []string{
		"", "!", staple,
		"$argon2id$v=19$m=4294967295,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ",
		"$2b$10$abcdefghijklmnopqrstuuGGgFFcYeueaAql8Z7U7CnCTRw4DR77W", // a hash of this password, but of too low a cost
		mustHash(t, h, "another"),
	} {
		got := allocated(func() { checkVerify(t, h, hash, staple, false, false) })
		if got < want || got > want+1<<20 {
			t.Errorf("Verify(%q) allocates %d bytes, want %d and little more", hash, got, want)
		}
	}
}

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestTooLong(t *testing.T) {
	h := password.New()
	long := strings.Repeat("ö", 129)
	hash, err := h.Hash(t.Context(), long)
	if _, ok := errors.AsType[password.PolicyError](err); hash != "" || !ok || strings.Contains(err.Error(), "ö") {
		t.Errorf("Hash of 129 characters = %q, %v; want a PolicyError without the password", hash, err)
	}
	bcrypted, err := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{"", string(bcrypted), password.PHC{Memory: 64, Passes: 1, Threads: 1, Salt: 16, Key: 32}.Of(long)} {
		got := allocated(func() { checkVerify(t, h, hash, long, false, false) })
		if got > 1<<20 {
			t.Errorf("Verify(%q) of 129 characters allocates %d bytes, as if it hashed", hash, got)
		}
	}
}

// operations are all methods that take a slot.
var operations = map[string]func(context.Context, *password.Hasher) error{
	"Hash": func(ctx context.Context, h *password.Hasher) error {
		_, err := h.Hash(ctx, staple)
		return err
	},
	"Verify of a hash": func(ctx context.Context, h *password.Hasher) error {
		_, _, err := h.Verify(ctx, "$argon2id$v=19$m=256,t=1,p=2$c29tZXNhbHQ$sn5fTPRFzQJj7fdZk1m7lQ", staple)
		return err
	},
	"Verify of bcrypt": func(ctx context.Context, h *password.Hasher) error {
		_, _, err := h.Verify(ctx, "$2b$12$abcdefghijklmnopqrstuu0sDWleciW5uGBGYwxpcgAsh9WK4bWNy", staple)
		return err
	},
	"Verify of nothing": func(ctx context.Context, h *password.Hasher) error {
		_, _, err := h.Verify(ctx, "", staple)
		return err
	},
}

// While all slots are taken, no call hashes. When one is free, all calls get
// through it, one after the other.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := takeAll(t)
		done := make(chan error, 3)
		for range cap(done) {
			go func() {
				_, err := h.Hash(t.Context(), staple)
				done <- err
			}()
		}
		synctest.Wait()
		if n := len(done); n != 0 {
			t.Fatalf("%d calls are done while all slots are taken, want 0", n)
		}
		h.Release()
		for range cap(done) {
			if err := <-done; err != nil {
				t.Errorf("Hash = %v", err)
			}
		}
		if got, want := h.Busy(), runtime.GOMAXPROCS(0)-1; got != want {
			t.Errorf("%d slots are taken at the end, want %d", got, want)
		}
	})
}

// takeAll returns a Hasher with all slots taken.
func takeAll(t *testing.T) *password.Hasher {
	t.Helper()
	h := password.New()
	for range runtime.GOMAXPROCS(0) {
		if err := h.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// Every call that hashes waits for its turn until its context ends.
func TestContextEndsWhileWaiting(t *testing.T) {
	for name, do := range operations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := takeAll(t)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- do(ctx, h) }()
				synctest.Wait()
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("%s = %v, want context.Canceled", name, err)
				}
			})
		})
	}
}

func TestContextHasEnded(t *testing.T) {
	h := password.New()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, do := range operations {
		if err := do(ctx, h); !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", name, err)
		}
	}
	if n := h.Busy(); n != 0 {
		t.Errorf("%d slots are taken, want 0", n)
	}
}

func TestConcurrentUse(t *testing.T) {
	h := password.New()
	hash := mustHash(t, h, staple)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			checkVerify(t, h, hash, staple, true, false)
			checkVerify(t, h, hash, "another", false, false)
			if err := h.Check(staple); err != nil {
				t.Errorf("Check = %v", err)
			}
		})
	}
	wg.Wait()
}

// A parsed hash is written in the same form, and is within the limits.
func FuzzParsePHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$ZmxhZ3N0YWZmLXNhbHQxNg$cJruov/3WWBCxaDoqnT5Ofxt2KrsraPKW8nIKjgWfOc")
	f.Add("$argon2id$v=19$m=262144,t=16,p=16$" + strings.Repeat("A", 86) + "$" + strings.Repeat("A", 86))
	for _, tt := range notHashes {
		f.Add(tt.hash)
	}
	f.Fuzz(func(t *testing.T, hash string) {
		p, written, ok := password.ParsePHC(hash)
		switch {
		case !ok:
			return
		case written != hash:
			t.Errorf("%q is written as %q", hash, written)
		case p.Memory > 256*1024 || p.Memory < 8*uint32(p.Threads), p.Passes < 1 || p.Passes > 16, p.Threads < 1 || p.Threads > 16,
			p.Salt < 8 || p.Salt > 64, p.Key < 16 || p.Key > 64:
			t.Errorf("%q is accepted", hash)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	h := password.New()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Hash(b.Context(), staple); err != nil {
			b.Fatal(err)
		}
	}
}
