// Package mail sends the mails of package management: through a mail server, or
// into a folder.
//
//	m, err := mail.NewSMTP("smtp://user:password@mail.example.com", mail.Options{From: "flagstaff@example.com"})
//	…
//	service, err := management.New(management.Config{Mailer: m, …})
//
// [SMTP] hands each message to a server. [Dir] writes each into a file that a
// person can read and a mail program can open, for development and for tests.
// Both implement [management.Mailer] and are safe for concurrent use.
//
// # Encryption
//
// The address of the server says how. With smtp:// the connection is encrypted
// by STARTTLS if the server offers it; with a password it has to, so that nobody
// can take the offer away. With smtps:// it is encrypted from the start. The
// certificate must be valid for the name of the host, and known to the system or
// to [Options].TLS.
//
// For a server on the same machine, smtp:// asks for neither: nobody is between,
// and such servers seldom have a certificate for localhost.
//
// # Errors
//
// Errors say which kind of message was sent where, and at which step it failed.
// They wrap their cause: that of the context, a *[textproto.Error] with what the
// server has answered, or an error of the network. Their text contains neither
// the user name nor the password, even if the server repeats them.
//
// A message that could be several messages, to several people, is refused: line
// breaks in addresses or subjects, and more than one address.
//
// An error that comes after all of a message was sent leaves open whether the
// server has it. Sending it again may then deliver it twice.
//
// Source: management.md §6.6.
package mail
