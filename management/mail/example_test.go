package mail_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/mail"
)

func ExampleDir() {
	folder, err := os.MkdirTemp("", "mails")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	var mailer management.Mailer // the interface of management.Config
	mailer, err = mail.OpenDir(folder, mail.Options{From: "flagstaff@example.com", FromName: "Flagstaff"})
	if err != nil {
		panic(err)
	}
	err = mailer.Send(context.Background(), management.Message{
		To:      "ada@example.org",
		Subject: "Verify your email address",
		Text:    "Hello Ada,\n\nhttps://app.example.com/verify_email/…\n",
		Kind:    "email_verification",
	})
	if err != nil {
		panic(err)
	}

	files, err := filepath.Glob(filepath.Join(folder, "*-email_verification-*.eml"))
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "Date:") && !strings.HasPrefix(line, "Message-ID:") { // these differ each time
				fmt.Println(line)
			}
		}
	}
	// Output:
	// Auto-Submitted: auto-generated
	// MIME-Version: 1.0
	// Subject: Verify your email address
	// From: "Flagstaff" <flagstaff@example.com>
	// To: <ada@example.org>
	// Content-Transfer-Encoding: 8bit
	// Content-Type: text/plain; charset=UTF-8
	//
	// Hello Ada,
	//
	// https://app.example.com/verify_email/…
}
