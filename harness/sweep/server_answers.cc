#include "harness/sweep/server_answers.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace thinpipe {

using nlohmann::json;

std::vector<json> cut_off(std::vector<json>& answers, int workers) {
  const auto servers = answers.begin() + workers;
  std::vector<json> rest(std::make_move_iterator(servers), std::make_move_iterator(answers.end()));
  answers.erase(servers, answers.end());
  return rest;
}

void add_servers(std::vector<json> answers, const std::vector<json>& accounts, double time_scale,
                 PointSamples& samples) {
  for (std::size_t server = 0; server < answers.size(); ++server) {
    answers[server]["relative_error"] = accounts[server].at("relative_error");
    for (const char* time : {"decode", "compress"})
      answers[server][time] = answers[server].at(time).get<double>() / time_scale;
  }
  samples.servers.push_back(std::move(answers));
}

}  // namespace thinpipe
