#pragma once
#include <simdjson.h>
