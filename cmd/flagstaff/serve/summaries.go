package serve

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/surveys/summary/chat"
)

// summaries are the settings of the service that writes summaries of survey answers.
type summaries struct {
	url, keyFile, model string
	timeout             duration
}

// checkSummaries checks the settings by themselves.
func (s *settings) checkSummaries() error {
	c := s.summaries
	for _, o := range []struct {
		name string
		set  bool
	}{{"key-file", c.keyFile != ""}, {"model", c.model != ""}, {"timeout", c.timeout != 0}} {
		if c.url == "" && o.set {
			return fmt.Errorf("flag -summary-%s needs -summary-url: without it no service is asked", o.name)
		}
	}
	switch {
	case c.url == "":
		return nil
	case c.model == "":
		return errors.New("flag -summary-url needs -summary-model, the name of a model of the service")
	case c.timeout != 0 && (time.Duration(c.timeout) < time.Second || time.Duration(c.timeout) > maxAnswerTime-5*time.Second): // counting takes time, too
		return fmt.Errorf("invalid value %q for flag -summary-timeout: want 1s to %v", c.timeout.String(), maxAnswerTime-5*time.Second)
	}
	if _, err := chat.New(chat.Config{URL: c.url, Model: c.model}); err != nil { // which may have a password
		return errors.New("invalid value for flag -summary-url: want an http or https URL without user, query and fragment, such as https://api.example.com/v1")
	}
	return nil
}

// summarizer returns what asks the service, nil without -summary-url.
func (s *settings) summarizer() (*chat.Summarizer, error) {
	c := chat.Config{URL: s.summaries.url, Model: s.summaries.model, Timeout: time.Duration(s.summaries.timeout)}
	if c.URL == "" {
		return nil, nil
	}
	if path := s.summaries.keyFile; path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the key of -summary-key-file: %w", err)
		}
		if c.Key = strings.TrimSpace(string(text)); c.Key == "" {
			return nil, fmt.Errorf("%s of -summary-key-file has no key", path)
		}
	}
	words, err := chat.New(c)
	if err != nil { // -summary-url is in order by itself
		return nil, fmt.Errorf("-summary-url with the key in %s: %w", s.summaries.keyFile, err)
	}
	return words, nil
}
