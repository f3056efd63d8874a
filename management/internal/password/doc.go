// Package password hashes passwords, compares them with hashes, and judges
// whether a password is good enough.
//
//	h := password.New()
//	if err := h.Check(secret, "ada@example.com", "Ada", "Lovelace"); err != nil {
//		return err // a sentence for the user who chose this password
//	}
//	hash, err := h.Hash(ctx, secret) // to be stored
//	…
//	ok, outdated, err := h.Verify(ctx, hash, secret)
//
// A [Hasher] is safe for concurrent use. Hashing is slow and takes memory on
// purpose, so a Hasher computes only as many hashes at once as there are
// processors. Other calls wait for their turn or for the end of their context.
// Use one Hasher per process.
//
// # Hashes
//
// Hashes are argon2id with 19 MiB of memory, two passes and one lane, the
// smallest parameters that OWASP recommends, written as PHC strings:
//
//	$argon2id$v=19$m=19456,t=2,p=1$<salt>$<key>
//
// [Hasher.Verify] also understands argon2id with other parameters, and imported
// hashes of bcrypt, and reports them as outdated. The cost of a stored hash is
// bounded: none takes more than 256 MiB.
//
// # Timing
//
// Verify takes as long for an account without a password, or for no account at
// all, as for one with a current hash, and compares in constant time. Only
// outdated hashes take another time, until they are replaced. Passwords longer
// than [MaxLength] are refused before anything else, whatever the account.
//
// # Policy
//
// [Hasher.Check] requires a minimum length and a password that is hard to
// guess, but no particular kinds of characters. The rules are in management.md
// §4.4 and §15.2. Passwords are taken as they are: not trimmed, and not
// normalized.
package password
