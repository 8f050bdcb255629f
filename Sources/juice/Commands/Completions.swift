import ArgumentParser
import JuiceDomain

/// `juice completions`: prints the script that completes `juice` in a shell.
struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print the script that completes juice's command lines in your shell.",
        discussion: """
            It completes commands, options, and juices and fruits of the menu that the environment names.

            Examples:
              juice completions bash > ~/.local/share/bash-completion/completions/juice
              juice completions zsh > /usr/local/share/zsh/site-functions/_juice
              juice completions fish > ~/.config/fish/completions/juice.fish
            """
    )

    @Argument(
        help: ArgumentHelp("bash, zsh or fish.", valueName: "shell"), completion: .list(CompletionShell.allCases.map(\.rawValue))
    ) var shell: CompletionShell

    func run() { StandardOutput.line(JuiceCommand.completionScript(for: shell)) }
}

extension CompletionShell: @retroactive ExpressibleByArgument {}

extension CompletionKind {
    /// Juices of the menu in use: their ids, or what a Korean prefix can begin.
    static var juices: Self {
        .custom { _, _, prefix in menu.juices.flatMap { prefix.isKorean ? [$0.name.korean] + $0.aliases : [$0.id] } }
    }

    /// Fruits of the menu in use.
    static var fruits: Self {
        .custom { _, _, prefix in menu.fruits.map { prefix.isKorean ? $0.name.korean : $0.id } }
    }

    /// Fruits of the menu in use, before an amount. There are two of each, so that no shell adds a space after the only one.
    static var amounts: Self {
        .custom { _, _, prefix in
            menu.fruits.map { prefix.isKorean ? $0.name.korean : $0.id }.flatMap { ["\($0)=+", "\($0)=-"] }
        }
    }

    /// The menu that the environment names. The built-in one if that cannot be read: an error message would appear in the middle of
    /// the user's line.
    static var menu: Menu { (try? Settings(options: [:]).menu()) ?? .standard }
}

extension String {
    fileprivate var isKorean: Bool { contains { !$0.isASCII } }
}
