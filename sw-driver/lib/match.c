/* The match table: which packets are merged with which, by their destination (docs/modules/merge.md). */
#include "device.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES 16
#define ACTIONS 4 /* registers, of four rules each */
#define RULE_WORDS 4
#define TOLD 8 /* bytes of an IPv6 address that a rule can tell */
#define ACTION_BYPASS 0x10U
#define ACTION_IPV6 0x20U
#define ACTION_ENABLE 0x80U

_Static_assert(WEIR_MATCH_ACTION0 == WEIR_MATCH + 4 && WEIR_MATCH_ACTION3 == WEIR_MATCH + 16, "registers in a row");
_Static_assert(WEIR_MATCH0_MASK1 == WEIR_MATCH0_VALUE0 + 12 && WEIR_MATCH1_VALUE0 == WEIR_MATCH0_VALUE0 + 16,
	       "registers in a row");

static uint32_t word_of(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void bytes_of(uint32_t word, uint8_t *bytes)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

static int check_class(const char *what, int number)
{
	if (number == WEIR_MATCH_BYPASS || (number >= 0 && number < CLASSES))
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "class %d of %s is out of range: allowed is 0 to %d, or bypass; try 0", number, what, CLASSES - 1);
}

static int check(const struct weir_match_table *table)
{
	int status = check_class("what no rule matches", table->unmatched);

	for (int n = 0; n < WEIR_MATCH_RULES && !status; n++) {
		const struct weir_match *rule = &table->rules[n];
		char name[16];

		if (!rule->family)
			continue;
		snprintf(name, sizeof(name), "rule %d", n);
		status = check_class(name, rule->group_class);
		if (!status && rule->family != 4 && rule->family != 6)
			status = weir_fail(WEIR_E_RANGE, "family %d of rule %d is out of range: allowed is 4 or 6, or 0 for a rule that is not used; try 4",
					   rule->family, n);
		for (int i = TOLD; i < 16 && !status; i++)
			if (rule->family == 6 && rule->mask[i])
				status = weir_fail(WEIR_E_RANGE, "mask of rule %d is out of range: of an IPv6 address the first 64 bits can be told; try /64", n);
	}
	return status;
}

static void convert(const struct weir_match_table *table, uint32_t *control, uint32_t *values)
{
	memset(control, 0, (1 + ACTIONS) * sizeof(*control));
	memset(values, 0, sizeof(*values) * WEIR_MATCH_RULES * RULE_WORDS);
	control[0] = table->unmatched < 0 ? WEIR_PLACED(WEIR_MATCH_BYPASS) : (uint32_t)table->unmatched;
	for (unsigned int n = 0; n < WEIR_MATCH_RULES; n++) {
		const struct weir_match *rule = &table->rules[n];
		uint32_t action = ACTION_ENABLE | (rule->group_class < 0 ? ACTION_BYPASS : (uint32_t)rule->group_class), *words = &values[n * RULE_WORDS];

		if (!rule->family)
			continue;
		words[0] = word_of(rule->address);
		words[2] = word_of(rule->mask);
		if (rule->family == 6) {
			action |= ACTION_IPV6;
			words[1] = word_of(rule->address + 4);
			words[3] = word_of(rule->mask + 4);
		}
		control[1 + n / 4] |= action << 8 * (n % 4);
	}
}

/* Rules are used as they stand: all are off, and nothing is merged, while they are written. */
static int set(struct weir *w, const struct weir_match_table *table)
{
	uint32_t control[1 + ACTIONS], values[WEIR_MATCH_RULES * RULE_WORDS];
	const uint32_t off[1 + ACTIONS] = { WEIR_PLACED(WEIR_MATCH_BYPASS) };
	const struct weir_access access = { WEIR_MATCH0_VALUE0, WEIR_LENGTH(values), values, true };
	int status = check(table);

	if (status)
		return status;
	convert(table, control, values);
	if (!weir_merges(w)) {
		for (size_t i = 0; i < WEIR_LENGTH(control); i++)
			if (control[i])
				return weir_fail(WEIR_E_UNSUPPORTED, "this core cannot merge packets; use a preset that is built with jumbo frames");
		return WEIR_OK;
	}
	status = weir_write_core(w, WEIR_MATCH, off, WEIR_LENGTH(off));
	if (!status)
		status = weir_transfer(w, &access, 1);
	return status ? status : weir_write_core(w, WEIR_MATCH, control, WEIR_LENGTH(control));
}

int weir_set_matches(struct weir *w, const struct weir_match_table *table)
{
	EXCLUSIVE(w, set(w, table));
}

static int get(struct weir *w, struct weir_match_table *table)
{
	uint32_t control[1 + ACTIONS] = { 0 }, values[WEIR_MATCH_RULES * RULE_WORDS] = { 0 };
	const struct weir_access list[] = {
		{ WEIR_MATCH, WEIR_LENGTH(control), control, false },
		{ WEIR_MATCH0_VALUE0, WEIR_LENGTH(values), values, false },
	};
	int status = weir_merges(w) ? weir_transfer(w, list, WEIR_LENGTH(list)) : WEIR_OK;

	if (status)
		return status;
	memset(table, 0, sizeof(*table));
	table->unmatched = control[0] & WEIR_PLACED(WEIR_MATCH_BYPASS) ? WEIR_MATCH_BYPASS : (int)WEIR_TAKE(WEIR_MATCH_CLASS, control[0]);
	for (unsigned int n = 0; n < WEIR_MATCH_RULES; n++) {
		const uint32_t action = control[1 + n / 4] >> 8 * (n % 4), *words = &values[n * RULE_WORDS];
		struct weir_match *rule = &table->rules[n];

		if (!(action & ACTION_ENABLE))
			continue;
		rule->family = action & ACTION_IPV6 ? 6 : 4;
		rule->group_class = action & ACTION_BYPASS ? WEIR_MATCH_BYPASS : (int)(action % CLASSES);
		for (int half = 0; half < (rule->family == 6 ? 2 : 1); half++) {
			bytes_of(words[half], rule->address + 4 * half);
			bytes_of(words[2 + half], rule->mask + 4 * half);
		}
	}
	return WEIR_OK;
}

int weir_get_matches(struct weir *w, struct weir_match_table *table)
{
	LOCKED(w, get(w, table));
}

static int bad_match(const char *text)
{
	return weir_fail(WEIR_E_UNKNOWN,
			 "destination '%s' is not known; allowed is ADDRESS/BITS or ADDRESS&MASK; try 10.1.0.0/16 or 2001:db8:1::/48", text);
}

int weir_parse_match(const char *text, struct weir_match *rule)
{
	const size_t length = strcspn(text, "/&");
	const char *rest = text + length;
	char address[INET6_ADDRSTRLEN];
	long bits = 0;
	int family;

	memset(rule, 0, sizeof(*rule));
	if (length >= sizeof(address) || !*rest)
		return bad_match(text);
	memcpy(address, text, length);
	address[length] = 0;
	family = strchr(address, ':') ? AF_INET6 : AF_INET;
	rule->family = family == AF_INET ? 4 : 6;
	if (inet_pton(family, address, rule->address) != 1)
		return bad_match(text);
	if (*rest == '&')
		return inet_pton(family, rest + 1, rule->mask) == 1 ? WEIR_OK : bad_match(text);
	for (const char *c = rest + 1; *c; c++) {
		if (*c < '0' || *c > '9' || c - rest > 3)
			return bad_match(text);
		bits = 10 * bits + *c - '0';
	}
	if (!rest[1] || bits > (rule->family == 4 ? 32 : 64))
		return weir_fail(WEIR_E_RANGE, "prefix of '%s' is out of range: allowed is 0 to 32 bits of IPv4, 0 to 64 of IPv6; try %s", text,
				 rule->family == 4 ? "/16" : "/64");
	for (int i = 0; i < bits; i++)
		rule->mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
	return WEIR_OK;
}
