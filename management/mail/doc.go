// Package mail sends the mails of package management: through a mail server, or
// into a folder.
//
//	m, err := mail.NewSMTP("smtp://user:password@mail.example.com", mail.Options{From: "flagstaff@example.com"})
//	…
//	service, err := management.New(management.Config{Mailer: m, …})
//
// [SMTP] hands each message to a server. [Dir] writes each message into a file
// that a person can read and a mail program can open, for development and
// tests. Both implement [management.Mailer] and are safe for concurrent use.
//
// # Encryption
//
// The scheme of the server's address selects the encryption. With smtp:// the
// connection is encrypted by STARTTLS if the server offers it. If the address
// has a password, the server must offer it, so that an attacker cannot suppress
// the offer. With smtps:// the connection is encrypted from the start. The
// certificate must be valid for the name of the host, and known to the system
// or to [Options].TLS.
//
// For a server on the same machine, smtp:// requires neither: no attacker is
// between, and such a server seldom has a certificate for localhost.
//
// # Errors
//
// An error says which kind of message was sent where, and which step failed. It
// wraps its cause: the error of the context, a *[textproto.Error] with the
// answer of the server, or an error of the network. Its text contains neither
// the user name nor the password, even if the server repeats them.
//
// A message that could be taken for several messages, or for one to several
// people, is refused: addresses and subjects must not contain line breaks, and
// there must be exactly one address.
//
// An error after the whole message was sent leaves open whether the server has
// it. To send it again may then deliver it twice.
//
// Source: management.md §6.6.
package mail
