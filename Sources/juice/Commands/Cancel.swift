import ArgumentParser

struct CancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel an order.",
        discussion: """
            Sends the cancel and confirms that a broker has stored it; with --wait it also prints the answer. The fruits of \
            an order that was made go back into stock. An order that was not made, or that the store does not know yet, \
            returns nothing, and will not be made if it comes again.

            Exit status: 0 cancelled (or sent), 3 rejected, 69 no broker or no answer.

            Examples:
              juice cancel pos-7-000123 --wait
              juice cancel pos-7-000123 --store gangnam --wait --json
            """
    )

    @Argument(help: ArgumentHelp("The id of the order.", valueName: "order-id"), transform: OptionValue.commandID.value)
    var orderID: String
    @OptionGroup var submission: SubmissionOptions
    @OptionGroup var client: ClientOptions

    func run() throws { try submission.submit(.cancel(id: orderID, store: submission.store), client) }
}
