// The manual page, made from the tables of the verbs.
#include "harness/options/man.h"

#include <sstream>

#include "harness/options/help.h"

namespace thinpipe {
namespace {

// roff reads a backslash as an escape, a dash as a hyphen, and a dot or quote that begins a line as
// a request.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char letter : text) {
    if (line_start && (letter == '.' || letter == '\'')) out += "\\&";
    line_start = letter == '\n';
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    out += (line.empty() ? ".PP" : escaped(line)) + "\n";
  }
  return out;
}

std::string entry(const std::string& heading, const std::string& text) {
  return ".TP\n.B " + escaped(heading) + "\n" + escaped(text) + "\n";
}

std::string trimmed(const std::string& text) { return text.substr(text.find_first_not_of(' ')); }

std::string options_section(const Verb& verb) {
  std::string out;
  for (const PositionalInfo& info : verb.positionals) {
    out += entry(positional_heading(info), info.help);
  }
  for (const OptionInfo& option : verb.options) {
    out += entry(trimmed(option_heading(option)), option_text(option));
  }
  return out;
}

std::string examples(const Verb& verb) {
  std::string out;
  for (const Example& example : verb.examples) {
    out += ".PP\n" + escaped(example.purpose) + ":\n.PP\n.nf\n.RS\n" + escaped(example.command) +
           "\n.RE\n.fi\n";
  }
  return out;
}

}  // namespace

std::string man_page(const Verb& command, const std::vector<Verb>& verbs,
                     const std::string& version) {
  std::string out = ".TH THINPIPE 1 \"\" \"thinpipe " + version + "\" \"User Commands\"\n";
  out += ".SH NAME\nthinpipe \\- " + escaped(command.summary) + "\n";
  out += ".SH SYNOPSIS\n.B thinpipe\n.I VERB\n[\\fIOPTIONS\\fR]\n";
  out += ".SH DESCRIPTION\n" + paragraphs(command.description);
  out += ".SH OPTIONS\n" + options_section(command) +
         entry("-h, --help", "print help; also after a verb");
  out += ".SH VERBS\n";
  for (const Verb& verb : verbs) {
    out += ".SS " + escaped(usage_line(verb)) + "\n" + escaped(verb.summary) + ".\n.PP\n";
    out += paragraphs(verb.description) + options_section(verb) + examples(verb);
  }
  out += ".SH EXIT STATUS\n";
  out += entry("0", "Done, and good.");
  out += entry("1", "Something is worse (gate).");
  out += entry("2", "What was given is wrong: an option, a file, a spec.");
  out += entry("3", "It cannot be told whether something is worse (gate --strict).");
  out += entry("4", "A measurement or a validation failed, or the machine cannot do it.");
  out += entry("5", "What was measured cannot be compared (gate).");
  out += entry("128 + signal", "Interrupted; what was measured until then is kept.");
  return out;
}

}  // namespace thinpipe
