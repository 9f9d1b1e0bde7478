/* sim:[PRESET] or sim:/PATH.so, a cycle model in this process. Its interface is that of sim/model/weir_model.h. */
#define _GNU_SOURCE
#include "transport.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim {
	void *library, *model;
	void *(*create)(void);
	void (*destroy)(void *model);
	int (*read)(void *model, uint32_t address, uint32_t *value);
	int (*write)(void *model, uint32_t address, uint32_t value);
};

static int transfer(void *ctx, const struct weir_access *list, size_t n)
{
	struct sim *s = ctx;

	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < list[i].count; k++) {
			const uint32_t address = list[i].address + 4 * k;
			int answer = list[i].write ? s->write(s->model, address, list[i].values[k]) :
						     s->read(s->model, address, &list[i].values[k]);

			if (answer)
				return weir_refused(&list[i], k, answer > 0 ? "the core answered SLVERR" : "the core does not answer");
		}
	return WEIR_OK;
}

static void close_sim(void *ctx)
{
	struct sim *s = ctx;

	if (s->model)
		s->destroy(s->model);
	/* the library stays: what Verilator keeps in it may have threads' ends to run */
	free(s);
}

static bool find(struct sim *s)
{
	/* by way of memcpy, since ISO C has no conversion from an object to a function */
	const struct {
		const char *name;
		void *place;
	} list[] = {
		{ "weir_model_create", &s->create }, { "weir_model_destroy", &s->destroy },
		{ "weir_model_csr_read", &s->read }, { "weir_model_csr_write", &s->write },
	};

	for (size_t i = 0; i < WEIR_LENGTH(list); i++) {
		void *found = dlsym(s->library, list[i].name);

		if (!found)
			return false;
		memcpy(list[i].place, &found, sizeof(found));
	}
	return true;
}

int weir_open_sim(const char *rest, struct weir_transport *transport)
{
	const char *folder = getenv("WEIR_MODEL_DIR");
	char path[400];
	struct sim *s;

	if (*rest == '/')
		snprintf(path, sizeof(path), "%s", rest);
	else if (strchr(rest, '/'))
		return weir_fail(WEIR_E_SYNTAX, "sim:%.100s: neither a preset nor a path; write sim:full or sim:/PATH.so", rest);
	else
		snprintf(path, sizeof(path), "%s/%s/libweir_model.so", folder && *folder ? folder : "build/model",
			 *rest ? rest : "full");
	s = calloc(1, sizeof(*s));
	if (!s)
		return weir_fail(WEIR_E_MEMORY, "no memory for a model of %zu bytes; free some", sizeof(*s));
	s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!s->library || !find(s)) {
		free(s);
		return weir_fail(WEIR_E_OPEN, "sim:%.60s: %.150s is not a cycle model; build it with `make model`, or set "
				 "WEIR_MODEL_DIR", rest, path);
	}
	s->model = s->create();
	if (!s->model) {
		close_sim(s);
		return weir_fail(WEIR_E_OPEN, "sim:%.60s: the model does not come out of reset; build it again with `make model`", rest);
	}
	*transport = (struct weir_transport){ s, transfer, NULL, NULL, close_sim };
	return WEIR_OK;
}
