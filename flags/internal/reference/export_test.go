package reference

// The hashing of section 2 for the tests of vectors, without a document around it.

// HashText is the hash of any text, by the default algorithm.
func HashText(text string) float64 { return hashText("", text) }

// BucketHash is the hash that rollouts (salt "") and variants (salt "variant") use.
func BucketHash(flagKey, subject, salt string) float64 {
	return (&flag{key: flagKey}).bucketHash(subject, salt)
}

// HoldoutHash is the hash that holdouts use.
func HoldoutHash(subject string) float64 { return (&flag{}).holdoutHash(subject) }

// InRollout is the rollout test of a condition.
func InRollout(flagKey, subject string, percentage float64) bool {
	return (&flag{key: flagKey}).inRollout(condition{rollout: percentage}, subject)
}

// HeldOut is the test of a holdout.
func HeldOut(subject string, percentage float64) bool {
	return (&flag{holdout: &holdout{percentage: percentage}}).heldOut(subject)
}

// ChooseVariant draws a variant; "" means none.
func ChooseVariant(flagKey, subject string, keys []string, shares []float64) string {
	f := &flag{key: flagKey}
	for i := range keys {
		f.variants = append(f.variants, variant{key: keys[i], share: shares[i]})
	}
	if chosen := f.chooseVariant(condition{}, subject); chosen != nil {
		return *chosen
	}
	return ""
}

// ValueText is str of §4.1 for a JSON value.
func ValueText(value string) string { return valueText(decodeValue([]byte(value))) }

// Lower is lower of §4.4.
func Lower(s string) string { return lower(s) }

// RegexSupport tells what is done with a pattern: "supported", "invalid" or "unsupported".
func RegexSupport(pattern string) string {
	_, support := compileRegex(pattern)
	return map[regexSupport]string{regexSupported: "supported", regexInvalid: "invalid", regexUnsupported: "unsupported"}[support]
}
