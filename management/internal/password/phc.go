package password

import (
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// A cost has the parameters that determine the work of an argon2id hash.
type cost struct {
	memory  uint32 // in KiB
	passes  uint32
	threads uint8
}

// current is the cost of new hashes: the smallest that the OWASP Password
// Storage Cheat Sheet recommends. It takes 24 ms on a server of 2026.
var current = cost{memory: 19 * 1024, passes: 2, threads: 1}

// Lengths of the parts of new hashes in bytes, as RFC 9106 §4 recommends.
const (
	saltLength = 16
	keyLength  = 32
)

// Limits of stored hashes and their parts. A hash comes from the database, and
// thus from anyone who can write to the database.
const (
	maxMemory  = 256 * 1024
	maxPasses  = 16
	maxThreads = 16

	minSalt, maxSalt = 8, 64
	minKey, maxKey   = 16, 64

	maxPHC = 256 // bytes of the string; the longest one within the other limits has 207
)

// A phc is an argon2id hash with everything that is needed to compute it again.
type phc struct {
	cost
	salt, key []byte
}

// dummy is computed when there is no hash. No password has its key.
var dummy = phc{cost: current, salt: make([]byte, saltLength), key: make([]byte, keyLength)}

// encoding refuses strings that are not in canonical form.
var encoding = base64.RawStdEncoding.Strict()

// parsePHC reads a PHC string of argon2id, version 19. It accepts only the form
// that String writes.
func parsePHC(s string) (phc, bool) {
	if len(s) > maxPHC {
		return phc{}, false
	}
	var p phc
	var rest string
	if _, err := fmt.Sscanf(s, "$argon2id$v=19$m=%d,t=%d,p=%d$%s", &p.memory, &p.passes, &p.threads, &rest); err != nil {
		return phc{}, false
	}
	salt, key, _ := strings.Cut(rest, "$")
	var errSalt, errKey error
	p.salt, errSalt = encoding.DecodeString(salt)
	p.key, errKey = encoding.DecodeString(key)
	if errSalt != nil || errKey != nil || !p.sane() || p.String() != s {
		return phc{}, false // Sscanf also accepts signs, leading zeros and spaces
	}
	return p, true
}

// sane reports whether a hash is within the limits. Each lane needs 8 KiB (RFC
// 9106 §3.1).
func (p phc) sane() bool {
	return p.threads >= 1 && p.threads <= maxThreads &&
		p.memory >= 8*uint32(p.threads) && p.memory <= maxMemory &&
		p.passes >= 1 && p.passes <= maxPasses &&
		len(p.salt) >= minSalt && len(p.salt) <= maxSalt &&
		len(p.key) >= minKey && len(p.key) <= maxKey
}

// isCurrent reports whether Hash would use the parameters of this hash.
func (p phc) isCurrent() bool {
	return p.cost == current && len(p.salt) == saltLength && len(p.key) == keyLength
}

// derive computes the key of a password with this salt and cost.
func (p phc) derive(password string) []byte {
	return argon2.IDKey([]byte(password), p.salt, p.passes, p.memory, p.threads, uint32(len(p.key)))
}

func (p phc) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		p.memory, p.passes, p.threads, encoding.EncodeToString(p.salt), encoding.EncodeToString(p.key))
}

// Accepted costs of bcrypt. Below the minimum, hashes are too easy to guess
// (management.md §4.4); a cost of 15 takes two seconds, and each step doubles
// that.
const (
	minBcrypt = 12
	maxBcrypt = 15
)

// isBcrypt reports whether a hash is a complete bcrypt hash of an accepted
// cost, in one of the variants that differ in name only.
func isBcrypt(hash string) bool {
	if len(hash) != 60 || !(strings.HasPrefix(hash, "$2a$") || strings.HasPrefix(hash, "$2b$") || strings.HasPrefix(hash, "$2y$")) {
		return false
	}
	for _, c := range []byte(hash[7:]) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '/') {
			return false // the comparison would fail at once, and its time would tell
		}
	}
	n, err := bcrypt.Cost([]byte(hash))
	return err == nil && n >= minBcrypt && n <= maxBcrypt
}
