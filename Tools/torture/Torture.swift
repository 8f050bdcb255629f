import ArgumentParser
import Foundation

/// The root of the command line.
@main
struct Torture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture", abstract: "Kills, freezes and rescales the service on a real broker, and audits its answers.",
        discussion: """
            It creates its own topics, runs several `juice serve` on them, and sends orders and restocks through \
            clients with different partitioners, some of them repeatedly. Each round disturbs the service once. Some \
            delete the consumer group or reset its offsets, while its members are dead or frozen. At the end it reads \
            all topics and checks them against the contract.

            With --network the instances reach the brokers through a proxy in this process, which holds back, drops, \
            delays and replays single requests by their kind. Each broker gets a listener on 127.0.0.1, and responses \
            are rewritten to name the listeners; the brokers need no configuration. The connections use neither TLS \
            nor SASL.

            Exit status: 0 the contract was kept, 1 it was violated, 70 the torture itself failed, 130 interrupted.

            Example:
              torture --bootstrap-servers 127.0.0.1:9092 --rounds 20 --topics-anew \\
                --broker-restart 'systemctl restart kafka'
              torture --bootstrap-servers 127.0.0.1:9092,127.0.0.1:9093 --rounds 20 --network \\
                --network-kinds EndTxn,Produce
            """
    )

    @OptionGroup var plan: Plan

    func run() throws {
        // A broker that closes its connection must not end the process.
        signal(SIGPIPE, SIG_IGN)
        Interruption.install()
        do {
            let verdict = try TortureRun(plan: plan).run()
            throw ExitCode(verdict ? 0 : 1)
        } catch is Interrupted {
            Console.line("torture: interrupted")
            throw ExitCode(130)
        } catch let error as TortureError {
            Console.line("torture: \(error.description)")
            throw ExitCode(70)
        }
    }
}
