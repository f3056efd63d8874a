package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"runtime"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"
)

// Limits of the length of a password, in code points.
const (
	MinLength = 8
	MaxLength = 128
)

// A Hasher hashes passwords and compares them with hashes. Its methods are safe
// for concurrent use.
type Hasher struct {
	slots chan struct{} // has one element per running computation
}

// New returns a Hasher that computes up to GOMAXPROCS hashes at once.
func New() *Hasher {
	return &Hasher{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Hash returns a PHC string with a new salt. It fails if ctx ends while it
// waits for its turn, or if the password is longer than MaxLength.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if tooLong(password) {
		return "", errTooLong
	}
	if err := h.acquire(ctx); err != nil {
		return "", err
	}
	defer h.release()
	made := phc{cost: current, salt: make([]byte, saltLength), key: make([]byte, keyLength)}
	rand.Read(made.salt) // never fails
	made.key = made.derive(password)
	return made.String(), nil
}

// Verify reports whether a hash is a hash of this password. If it is, outdated
// says that Hash would use other parameters today, so that the hash should be
// replaced. A hash that is empty, begins with "!" or is not understood matches
// no password. Verify returns the error of ctx if ctx ends while the call waits
// for its turn.
func (h *Hasher) Verify(ctx context.Context, hash, password string) (ok, outdated bool, err error) {
	if tooLong(password) {
		return false, false, nil
	}
	if err := h.acquire(ctx); err != nil {
		return false, false, err
	}
	defer h.release()
	if isBcrypt(hash) {
		ok = bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
		return ok, ok, nil
	}
	stored, known := parsePHC(hash)
	if !known {
		stored = dummy // takes as long as a real hash
	}
	ok = subtle.ConstantTimeCompare(stored.derive(password), stored.key) == 1 && known
	return ok, ok && !stored.isCurrent(), nil
}

// acquire waits for the caller's turn. The caller must call release afterwards.
func (h *Hasher) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // select would choose at random
		return err
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Hasher) release() { <-h.slots }

func tooLong(password string) bool { return utf8.RuneCountInString(password) > MaxLength }
