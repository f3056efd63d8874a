// Package password hashes passwords, compares them, and says which are good
// enough.
//
//	h := password.New()
//	if err := h.Check(secret, "ada@example.com", "Ada", "Lovelace"); err != nil {
//		return err // a sentence for who wants to have this password
//	}
//	hash, err := h.Hash(ctx, secret) // to be stored
//	…
//	ok, outdated, err := h.Verify(ctx, hash, secret)
//
// A [Hasher] is safe for concurrent use. Hashing is slow and takes memory on
// purpose, so a Hasher does as many at once as there are processors; others wait
// for their turn or for the end of their context. Use one Hasher per process.
//
// # Hashes
//
// Hashes are argon2id with 19 MiB of memory, two passes and one lane, the
// smallest parameters that OWASP recommends, written as PHC strings:
//
//	$argon2id$v=19$m=19456,t=2,p=1$<salt>$<key>
//
// [Hasher.Verify] understands other parameters as well, and hashes of bcrypt
// that were imported, and says then that they are outdated. It bounds what a
// stored hash can make it do: no hash takes more than 256 MiB.
//
// # Timing
//
// Verify works as long for an account without a password, or for none at all, as
// for one with a current hash, and compares in constant time. Only outdated
// hashes take another time, until they are replaced. Passwords beyond
// [MaxLength] are refused before anything else, whoever they are for.
//
// # Policy
//
// [Hasher.Check] asks for a length and for a password that is hard to guess, not
// for kinds of characters. Rules are those of management.md §4.4 and §15.2.
// Passwords are taken as they are: not trimmed, and not normalized.
package password
