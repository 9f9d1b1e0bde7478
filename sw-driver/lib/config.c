/* A queue's configuration in natural units: setting by name, defaults, checks. What belongs to one policy is in
 * policy_<name>.c. */
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int unknown_key(int policy, const char *name)
{
	const char *of = weir_policy_of(policy)->info.name, *called = weir_parameter_called(policy, name);
	struct weir_guess guess = { NULL, 0 };
	char known[300] = "";
	size_t used = 0;
	const struct weir_row *row;

	for (size_t i = 0; (row = weir_row_at(policy, i)) && used < sizeof(known); i++) {
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", row->parameter.name);
		weir_consider(&guess, name ? name : "", row->parameter.name);
	}
	if (called)
		return weir_fail(WEIR_E_UNKNOWN, "%s has no parameter '%.30s', it is %s here", of, name, called);
	if (guess.name)
		return weir_fail(WEIR_E_UNKNOWN, "%s has no parameter '%.30s'%s", of, name, weir_did_you_mean(&guess).s);
	return weir_fail(WEIR_E_UNKNOWN, "%s has no parameter '%.30s'; it has %s", of, name ? name : "", known);
}

/* Tells the policy, its base first, which parameter has been named. */
static void tell(const struct weir_policy_entry *entry, struct weir_queue_config *config, const char *name)
{
	if (entry->base)
		tell(entry->base, config, name);
	if (entry->ops->named)
		entry->ops->named(config, name);
}

int weir_queue_set(struct weir_queue_config *config, const char *name, const char *text)
{
	const struct weir_policy_entry *entry = weir_policy_of(config->policy);
	const struct weir_row *row;
	double value = 1;
	bool suffix = false;
	int status = WEIR_OK;

	if (!entry)
		return weir_no_policy(config->policy);
	row = weir_row_of(config->policy, name);
	if (!row)
		return unknown_key(config->policy, name);
	if (text || row->parameter.kind != WEIR_KIND_FLAG)
		status = text ? weir_parse_text(&row->parameter, text, &value, &suffix) :
				weir_fail(WEIR_E_SYNTAX, "%s needs a value; it is %s", row->parameter.name,
					  row->parameter.help);
	if (status && text) {
		char reason[WEIR_MESSAGE_SIZE];

		snprintf(reason, sizeof(reason), "%s", weir_error());
		return weir_fail(status, "%s: %.350s", row->parameter.name, reason);
	}
	if (status)
		return status;
	if (!strcmp(row->parameter.name, "limit") && suffix) {
		config->limit_bytes = value;
		return WEIR_OK;
	}
	config->in_bytes = suffix ? config->in_bytes | row->in_bytes : config->in_bytes & ~row->in_bytes;
	weir_set_row(config, row, value);
	tell(entry, config, row->parameter.name);
	return WEIR_OK;
}

int weir_queue_get(const struct weir_queue_config *config, const char *name, double *value)
{
	const struct weir_row *row;

	if (!weir_policy_of(config->policy))
		return weir_no_policy(config->policy);
	row = weir_row_of(config->policy, name);
	if (!row)
		return unknown_key(config->policy, name);
	*value = weir_row_value(config, row);
	return !isnan(*value);
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static int check_choice(const struct weir_parameter *p, double value)
{
	if (value >= p->min && value <= p->max)
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "%s %.0f is out of range: allowed is %.0f to %.0f; choose %s", p->name,
			 isnan(value) ? WEIR_UNSET : value, p->min, p->max, p->choices ? p->choices : "off or on");
}

static int check_row(const struct weir_capabilities *caps, const struct weir_queue_config *config,
		     const struct weir_row *row)
{
	const struct weir_parameter *p = &row->parameter;
	const char *queue_unit = weir_unit_name(config->unit);
	bool in_queue_unit = !strcmp(p->unit, "queue unit");
	double value = weir_row_value(config, row), min, max;
	char buffer[160];
	int status;

	if (weir_is_choice(row))
		return isnan(value) && row->optional ? WEIR_OK : check_choice(p, value);
	if (isnan(value) && row->optional)
		return WEIR_OK;
	if (isinf(value) && value > 0 && p->kind == WEIR_KIND_TIME && !strcmp(p->default_text, "off"))
		return WEIR_OK;
	if (in_queue_unit && config->unit != WEIR_UNIT_BYTES && (config->in_bytes & row->in_bytes))
		return weir_fail(WEIR_E_CONFLICT,
				 "%s is given in bytes, but the queue is measured in %s; write a plain number of %s, or "
				 "unit bytes",
				 p->name, queue_unit, queue_unit);
	weir_parameter_range(caps, p, &min, &max);
	snprintf(buffer, sizeof(buffer), "the buffer of this core has %u cells of %u bytes, one of them the list's end",
		 (unsigned int)caps->cells, (unsigned int)caps->cell_bytes);
	status = weir_check_range(p->name, value, min, max, in_queue_unit ? queue_unit : p->unit,
				  row->advice ? row->advice : buffer);
	if (!status && row->whole && value != floor(value))
		status = weir_fail(WEIR_E_RANGE, "%s %s is not a whole number; try %s", p->name,
				   weir_show_value(value).s, weir_show_value(round(value)).s);
	return status;
}

int weir_check_parameter(const struct weir_capabilities *caps, const struct weir_queue_config *config, const char *name)
{
	return check_row(caps, config, weir_row_of(config->policy, name));
}

static int check_built(const struct weir_capabilities *caps, const struct weir_policy_entry *entry)
{
	const struct weir_policy_info *info;
	char built[200] = "";
	size_t used = 0;

	if (caps->features >> entry->info.id & 1)
		return WEIR_OK;
	for (size_t i = 0; (info = weir_policy_at(i)); i++)
		if (caps->features >> info->id & 1)
			used += (size_t)snprintf(built + used, sizeof(built) - used, "%s%s", used ? ", " : "", info->name);
	return weir_fail(WEIR_E_UNSUPPORTED, "policy %s is not built into this core; choose one of %s", entry->info.name,
			 built);
}

int weir_check_common(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	const struct weir_policy_entry *entry = weir_policy_of(config->policy);
	const struct weir_row *row;
	int status = entry ? check_built(caps, entry) : weir_no_policy(config->policy);

	/* the common rows come first, and end where drop-tail's do */
	for (size_t i = 0; !status && (row = weir_row_at(WEIR_POLICY_DROP_TAIL, i)); i++)
		status = check_row(caps, config, row);
	return status;
}

static int check_policy(const struct weir_capabilities *caps, const struct weir_policy_entry *entry,
			const struct weir_queue_config *config)
{
	int status = entry->base ? check_policy(caps, entry->base, config) : WEIR_OK;

	for (size_t i = 0; i < entry->row_count && !status; i++)
		status = check_row(caps, config, &entry->rows[i]);
	return status || !entry->ops->check ? status : entry->ops->check(caps, config);
}

int weir_config_check(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	int status = weir_check_common(caps, config);

	return status ? status : check_policy(caps, weir_policy_of(config->policy), config);
}

/* ---- defaults ------------------------------------------------------------------------------------------ */

void weir_fill(double *value, double otherwise)
{
	if (isnan(*value))
		*value = otherwise;
}

void weir_fill_choice(int *value, int otherwise)
{
	if (*value == WEIR_UNSET)
		*value = otherwise;
}

/* Defaults that the table has as values; those that it describes are derived later. */
static void fill_from_table(struct weir_queue_config *config)
{
	const struct weir_row *row;
	double value;
	bool suffix;

	for (size_t i = 0; (row = weir_row_at(config->policy, i)); i++)
		if (!row->optional && isnan(weir_row_value(config, row)) &&
		    weir_read_text(&row->parameter, row->parameter.default_text, &value, &suffix))
			weir_set_row(config, row, value);
}

static int complete_policy(const struct weir_capabilities *caps, const struct weir_policy_entry *entry,
			   struct weir_queue_config *config)
{
	int status = entry->base ? complete_policy(caps, entry->base, config) : WEIR_OK;

	return status || !entry->ops->complete ? status : entry->ops->complete(caps, config);
}

int weir_config_complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	const struct weir_policy_entry *entry = weir_policy_of(config->policy);
	struct weir_queue_config c = *config;
	int status;

	if (!entry)
		return weir_no_policy(config->policy);
	fill_from_table(&c);
	if (c.in_bytes & WEIR_IN_BYTES_RESERVE) {
		c.reserve = ceil(c.reserve / caps->cell_bytes);
		c.in_bytes &= ~(uint32_t)WEIR_IN_BYTES_RESERVE;
	}
	if (!isnan(c.limit)) {
		*(c.unit == WEIR_UNIT_BYTES ? &c.limit_bytes : &c.limit_packets) = c.limit;
		c.limit = NAN;
	}
	weir_fill(&c.limit_bytes, weir_buffer_bytes(caps));
	weir_fill(&c.limit_packets, caps->descriptors);
	status = complete_policy(caps, entry, &c);
	if (!status)
		*config = c;
	return status;
}
