package console_test

import (
	"testing"
)

func TestFlags(t *testing.T) {
	s := newSite(t)
	a := s.get("/projects/1/flags").want(200, "new-dashboard", "100 % where plan is pro or team; 50 % of everyone", "12 flags", "the cohort is empty")
	a.checkPage()
	a = s.get(s.flagPath("checkout-button")).want(200, "control", "Who gets it")
	a.checkPage()
}
