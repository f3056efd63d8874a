# Shortcuts; each command also works on its own.

.PHONY: test race lint fuzz random bench ci

test:   ; go test work
race:   ; .ci/run race
lint:   ; .ci/run workspace standalone format vet static
fuzz:   ; .ci/run fuzz
random: ; .ci/run random
bench:  ; .ci/bench
ci:     ; .ci/run
