package password

import "context"

func (h *Hasher) Acquire(ctx context.Context) error { return h.acquire(ctx) }
func (h *Hasher) Release()                          { h.release() }

// Busy returns the number of slots in use.
func (h *Hasher) Busy() int { return len(h.slots) }

// A PHC has the parameters of a hash and the lengths of its parts.
type PHC struct {
	Memory, Passes uint32
	Threads        uint8
	Salt, Key      int
}

// Of returns the hash of a password with these parameters and an empty salt.
func (p PHC) Of(password string) string {
	made := phc{cost: cost{p.Memory, p.Passes, p.Threads}, salt: make([]byte, p.Salt), key: make([]byte, p.Key)}
	made.key = made.derive(password)
	return made.String()
}

// ParsePHC reads a hash, and also returns it written again.
func ParsePHC(s string) (p PHC, written string, ok bool) {
	parsed, ok := parsePHC(s)
	return PHC{parsed.memory, parsed.passes, parsed.threads, len(parsed.salt), len(parsed.key)}, parsed.String(), ok
}

// Understood reports whether Verify can compare a password with this hash.
func Understood(hash string) bool {
	_, ok := parsePHC(hash)
	return ok || isBcrypt(hash)
}

// Score estimates a password of a user with these personal values.
func Score(p string, personal ...string) int { return score(p, personalTerms(personal)) }

const LeetSigns, LeetWithOneAsI, LeetWithOneAsL = leetSigns, leetWithOneAsI, leetWithOneAsL
