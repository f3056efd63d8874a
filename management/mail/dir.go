package mail

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"os"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ management.Mailer = (*Dir)(nil)

// Dir writes each message into a file of one folder. Its methods are safe for
// concurrent use, also by several processes.
type Dir struct {
	path string
	from netmail.Address
}

// OpenDir returns a mailer for a folder. A missing folder is created with
// access for its owner only, because mails contain secrets.
func OpenDir(path string, o Options) (*Dir, error) {
	from, err := o.sender()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("mail: create a folder for mails: %w", err)
	}
	return &Dir{path: path, from: from}, nil
}

// Send writes a message into a new file that only its owner can access. The
// name of the file consists of the time, the kind of the message and a random
// number:
//
//	20261121T093000.000000000Z-email_verification-1234567890.eml
//
// Names sort by time. A file appears when it is complete.
func (d *Dir) Send(ctx context.Context, m management.Message) error {
	if err := d.write(ctx, m); err != nil {
		return fmt.Errorf("mail: write %s into %s: %w", kind(m), d.path, err)
	}
	return nil
}

func (d *Dir) write(ctx context.Context, m management.Message) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	// The text is not encoded, so that links can be copied, unless a line is
	// too long for that (RFC 5322 §2.1.1).
	encoding := gomail.NoEncoding
	if longestLine(m.Text) > 998 || longestLine(m.HTML) > 998 {
		encoding = gomail.EncodingQP
	}
	msg, err := compose(m, d.from, encoding)
	if err != nil {
		return err
	}
	name := time.Now().UTC().Format("20060102T150405.000000000Z") + "-" + fileName(m.Kind) + "-"
	f, err := os.CreateTemp(d.path, name+"*.tmp") // creates the file with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = msg.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), strings.TrimSuffix(f.Name(), ".tmp")+".eml")
}

// longestLine returns the length of the longest line in bytes.
func longestLine(s string) int {
	longest := 0
	for line := range strings.Lines(s) {
		longest = max(longest, len(strings.TrimRight(line, "\r\n")))
	}
	return longest
}

// fileName turns the kind of a message into a part of a file name.
func fileName(kind string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, kind)
	if name == "" {
		return "message"
	}
	return name[:min(len(name), 64)]
}
