// The ranks' accounts of a step: its compression error, and whether its results are right.
#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/sweep/samples.h"
#include "harness/worker/reference.h"

namespace thinpipe {
namespace {

using nlohmann::json;

std::vector<json> field_of(const std::vector<json>& answers, const char* field) {
  std::vector<json> values;
  for (const json& answer : answers) values.push_back(answer.at(field));
  return values;
}

double error_in(const json& answer, const char* field = "error") {
  return answer.at(field).is_number() ? answer.at(field).get<double>()
                                      : std::numeric_limits<double>::infinity();
}

// Returns the number; NaN for null, which stands for a number that was not finite.
double number_or_nan(const json& answer, const char* field) {
  const json& number = answer.at(field);
  return number.is_null() ? std::numeric_limits<double>::quiet_NaN() : number.get<double>();
}

// Removes the servers' answers, which come after the workers', and returns them.
std::vector<json> cut_off(std::vector<json>& answers, int workers) {
  const auto servers = answers.begin() + workers;
  std::vector<json> rest(std::make_move_iterator(servers), std::make_move_iterator(answers.end()));
  answers.erase(servers, answers.end());
  return rest;
}

// Compares each server's mean with the gradients that workers pushed, and the workers' results with
// the servers' answers.
void compare_servers(const std::vector<json>& accounts, const std::vector<json>& compared,
                     const std::vector<json>& servers, PointSamples& samples) {
  for (std::size_t server = 0; server < servers.size(); ++server) {
    const json& answer = servers[server];
    double error = 0;
    if (answer.contains("projections")) {
      std::vector<json> contributions;  // to this server's slice
      for (const json& account : accounts)
        contributions.push_back(json::array({account.at("projections").at(server)}));
      error = projected_error(contributions, std::vector<json>(1, answer.at("projections")),
                              std::vector<json>(1, answer.at("largest")));
    } else {
      error = error_in(answer);
    }
    samples.worst_error = std::max(samples.worst_error, error);
    for (const json& worker : compared)
      samples.servers_heard =
          samples.servers_heard && worker.at("parts").at(server) == answer.at("delta");
  }
}

}  // namespace

void add_accounts(const std::vector<json>& accounts, StepAnswers& step) {
  auto account = accounts.begin();
  for (WorkerStep& worker : step.workers) {
    worker.relative_error = number_or_nan(*account, "relative_error");
    if (account->contains("served"))
      worker.second_relative_error = number_or_nan(account->at("served"), "relative_error");
    ++account;
  }
  for (ServerStep& server : step.servers)
    server.relative_error = number_or_nan(*account++, "relative_error");
}

void add_comparison(std::vector<json> accounts, std::vector<json> compared, int workers,
                    PointSamples& samples) {
  ++samples.checked_steps;
  cut_off(accounts, workers);
  std::vector<json> servers = cut_off(compared, workers);
  // In a two-shot collective every rank is a server.
  if (compared[0].contains("served")) servers = field_of(compared, "served");
  compare_servers(accounts, compared, servers, samples);
  const json& first = servers.empty() ? compared[0] : servers[0];
  samples.reference = first.contains("projections") ? "projections"
                      : first.contains("error")     ? "elements"
                                                    : "none";
  if (servers.empty() && compared[0].contains("projections"))
    samples.worst_error =
        std::max(samples.worst_error,
                 projected_error(field_of(accounts, "projections"),
                                 field_of(compared, "projections"), field_of(compared, "largest")));
  for (const json& answer : compared) {
    for (const char* field : {"error", "outer_error"})
      if (answer.contains(field))
        samples.worst_error = std::max(samples.worst_error, error_in(answer, field));
    if (answer.contains("sum_error")) {
      samples.sum_error = std::max(samples.sum_error.value_or(0), error_in(answer, "sum_error"));
      samples.sum_error_of_bound =
          std::max(samples.sum_error_of_bound, error_in(answer, "sum_error_of_bound"));
    }
    samples.identical_ranks =
        samples.identical_ranks && answer.at("digest") == compared[0].at("digest");
  }
}

}  // namespace thinpipe
